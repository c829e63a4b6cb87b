// Decodes values that all have the same number of bytes: numbers, booleans, times. In a header,
// since RowWriter decodes whole rows of them in one loop. Used by field_decoder.cc and
// row_writer.cc; independent of N-API.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "binary_value.h"
#include "field_decoder.h"
#include "wire_format.h"

namespace pg_conduit {

inline uint64_t PackPair(int32_t low, int32_t high) {
  uint64_t cell;
  const int32_t pair[2] = {low, high};
  std::memcpy(&cell, pair, sizeof(cell));
  return cell;
}

inline uint64_t PackDouble(double value) {
  if (std::isnan(value)) return PackPair(0, static_cast<int32_t>(kCanonicalNanHigh));
  uint64_t cell;
  std::memcpy(&cell, &value, sizeof(cell));
  return cell;
}

inline uint64_t PackSafeInteger(int64_t value) {
  constexpr int64_t kMaxSafeInteger = (int64_t{1} << 53) - 1;
  if (value > kMaxSafeInteger || value < -kMaxSafeInteger) {
    return PackPair(0, static_cast<int32_t>(kUnsafeIntegerHigh));
  }
  return PackDouble(static_cast<double>(value));
}

inline void PutBigInt(int64_t value, uint64_t* cell) {
  cell[0] = 0;
  std::memcpy(&cell[1], &value, sizeof(value));
}

// Bytes of each value of a codec that DecodeFixed() knows; 0 for others.
inline size_t FixedSize(Codec codec) {
  switch (codec) {
    case Codec::kBinaryBool:
      return 1;
    case Codec::kBinaryInt2:
      return 2;
    case Codec::kBinaryInt4:
    case Codec::kBinaryOid:
    case Codec::kBinaryDate:
      return 4;
    case Codec::kBinaryFloat8:
    case Codec::kBinaryInt8Number:
    case Codec::kBinaryBigInt:
    case Codec::kBinaryTimestampTz:
    case Codec::kBinaryTimestamp:
      return 8;
    default:
      return 0;
  }
}

// Writes one value that is not NULL, of FixedSize() bytes.
inline void DecodeFixed(Codec codec, const char* bytes, uint64_t* cell) {
  switch (codec) {
    case Codec::kBinaryBool:
      *cell = PackPair(bytes[0] != 0, 0);
      break;
    case Codec::kBinaryInt2:
      *cell = PackPair(static_cast<int16_t>(ReadBigEndian16(bytes)), 0);
      break;
    case Codec::kBinaryInt4:
    case Codec::kBinaryOid:
      *cell = PackPair(static_cast<int32_t>(ReadBigEndian32(bytes)), 0);
      break;
    case Codec::kBinaryDate:
      *cell = PackDouble(DateMillis(static_cast<int32_t>(ReadBigEndian32(bytes))));
      break;
    case Codec::kBinaryFloat8: {
      const uint64_t bits = ReadBigEndian64(bytes);
      double number;
      std::memcpy(&number, &bits, sizeof(number));
      *cell = PackDouble(number);
      break;
    }
    case Codec::kBinaryInt8Number:
      *cell = PackSafeInteger(static_cast<int64_t>(ReadBigEndian64(bytes)));
      break;
    case Codec::kBinaryBigInt:
      PutBigInt(static_cast<int64_t>(ReadBigEndian64(bytes)), cell);
      break;
    case Codec::kBinaryTimestampTz:
    case Codec::kBinaryTimestamp:
      *cell = PackDouble(TimestampMillis(static_cast<int64_t>(ReadBigEndian64(bytes))));
      break;
    default:
      break;
  }
}

}  // namespace pg_conduit
