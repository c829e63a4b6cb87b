// One value in PostgreSQL's binary format (the *_send functions), read into a
// number or into the text that the *_out functions would give; and the reverse
// for bytea. Pure functions, called by field_decoder.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pg_conduit {

// At most eight bytes.
uint64_t ReadBigEndian(std::string_view bytes);

// Milliseconds since 1970, +-Infinity for PostgreSQL's infinity. Fractions of
// a millisecond are cut off downwards, as a JavaScript Date has none.
double TimestampMillis(int64_t micros);
double DateMillis(int32_t days);

// These append to `out`; false when the bytes are not what the format allows.
bool AppendTime(int64_t micros, std::string* out);
bool AppendUuid(std::string_view value, std::string* out);
bool AppendNumeric(std::string_view value, std::string* out);
// byteaout's text, with either setting of bytea_output. What was appended before
// the text turned out to be wrong stays.
bool AppendTextBytes(std::string_view text, std::string* out);

}  // namespace pg_conduit
