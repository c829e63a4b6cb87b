// Reads one value in PostgreSQL's binary format (the *_send functions) into a number, or into the
// text that the *_out functions would give; and bytea's text into bytes. Pure functions, called by
// field_decoder.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pg_conduit {

// Of two, four or eight bytes that are there. Compilers make one instruction of each.
inline uint16_t ReadBigEndian16(const char* bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes);
  return static_cast<uint16_t>(at[0] << 8 | at[1]);
}
inline uint32_t ReadBigEndian32(const char* bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes);
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | uint32_t{at[3]};
}
inline uint64_t ReadBigEndian64(const char* bytes) {
  return uint64_t{ReadBigEndian32(bytes)} << 32 | ReadBigEndian32(bytes + 4);
}

// Milliseconds since 1970, +-Infinity for PostgreSQL's infinity. Fractions of a millisecond are
// rounded down, as a JavaScript Date has none.
double TimestampMillis(int64_t micros);
double DateMillis(int32_t days);

// These append to `out`; false if the bytes are not what the format allows.
bool AppendTime(int64_t micros, std::string* out);
bool AppendUuid(std::string_view value, std::string* out);
bool AppendNumeric(std::string_view value, std::string* out);
// For byteaout's text, with either setting of bytea_output. If the text turns out to be wrong, what
// was appended before stays.
bool AppendTextBytes(std::string_view text, std::string* out);

}  // namespace pg_conduit
