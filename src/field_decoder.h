// Decodes one field of a result, by its type: what kind of cell it becomes and how its bytes are
// read. Called by RowWriter for every cell; independent of N-API. The formats are those of
// PostgreSQL's *_out and *_send functions.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <string_view>

#include "delivery.h"
#include "wire_format.h"

namespace pg_conduit {

enum class Codec : uint8_t {
  kText,  // as it is: text format, or a type whose binary format is its text
  kTextInt32,
  kTextUint32,
  kTextBool,
  kTextFloat,
  kTextInt8Number,
  kTextBigInt,
  kTextBytes,
  kJson,  // text format, or json's binary format, which is the same
  kBinaryJsonb,
  kBinaryInt2,
  kBinaryInt4,
  kBinaryOid,
  kBinaryBool,
  kBinaryFloat8,
  kBinaryInt8Text,
  kBinaryInt8Number,
  kBinaryBigInt,
  kBinaryTimestampTz,
  kBinaryTimestamp,
  kBinaryDate,
  kBinaryTime,
  kBinaryUuid,
  kBinaryNumeric,
  kBinaryBytes,
  kUnknownBinary,  // never requested; fails every cell that is not NULL
};

struct ColumnPlan {
  Codec codec;
  CellKind kind;
  int cells;        // 8-byte cells that a value takes
  size_t size = 0;  // bytes of each value if DecodeFixed() decodes it, else 0
};

// `flags`: the kFlagDecodeMask bits of ExecuteFlags.
ColumnPlan PlanColumn(Oid type, int format, uint32_t flags);

// Whether the binary format of this type can be decoded to exactly what its text would give.
bool IsBinaryDecodable(Oid type);

// Writes one value that is not NULL to `cell`. False if the bytes are not what the type's format
// allows, or if a string would be too long for V8.
bool DecodeField(const ColumnPlan& plan, std::string_view value, Delivery* delivery,
                 uint64_t* cell);

}  // namespace pg_conduit
