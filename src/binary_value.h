// Reads one value in PostgreSQL's binary format (the *_send functions) into a number, or into the
// text that the *_out functions would give; and bytea's text into bytes. Pure functions, called by
// field_decoder.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pg_conduit {

// At most eight bytes.
uint64_t ReadBigEndian(std::string_view bytes);

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
