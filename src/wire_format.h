// The numbers that C++ and JavaScript share: commands and parameters that are sent in one tick,
// events and cells that are delivered in one call. lib/base/wire-format.js has the same numbers;
// test/native/wire-format.test.js compares the two.
#pragma once

#include <cstdint>

namespace pg_conduit {

// --- Down: Int32Array of commands -------------------------------------------
// [kUsed, kTextLength, kBytesLength, kTicks, kGathers, then records]. Texts (statement text, text
// parameters) are in one string in the order of the records, each followed by a NUL; binary
// parameters are in one byte array in that order.
enum CommandHeader : uint32_t {
  kHeaderUsed = 0,         // ints in use, the header included
  kHeaderTextLength = 1,   // UTF-16 units of the string
  kHeaderBytesLength = 2,  // bytes in use
  kHeaderTicks = 3,        // counts how often the records were taken
  kHeaderGathers = 4,      // 1: JavaScript has more to write before the loop polls
  kHeaderTurns = 5,        // counts the turns of the event loop
  kHeaderSize = 6,
};

enum class Command : int32_t {
  kQuery = 1,    // connection, slot, flags, text units, count, parameters
  kParse = 2,    // connection, slot, statement, text units
  kExecute = 3,  // connection, slot, flags, statement, shape id or KnownColumns, count, parameters
  kClose = 4,    // connection, slot, statement
  kSync = 5,     // connection, slot
  kSkip = 6,     // two ints of any value: a Sync that was moved further down
};

// What is known of the result of a prepared statement whose columns cannot change, in the place of
// the id of its shape. What is known is not asked for again.
enum KnownColumns : int32_t {
  kColumnsUnknown = -1,
  kColumnsNone = -2,  // it returns no rows
};

// A parameter is two ints: its kind and its length or value.
enum class ParamKind : int32_t {
  kNull = 0,
  kText = 1,   // UTF-16 units, without the NUL
  kInt32 = 2,  // the value itself, sent as decimal text
  kBytes = 3,  // bytes, sent in binary format
};

// How the rows of one execution are to be delivered.
enum ExecuteFlags : uint32_t {
  kFlagRawText = 1u << 0,  // every cell as the server's text
  kFlagBinary = 1u << 1,   // ask the server for binary format
  kFlagInt8Shift = 2,      // two bits: Int8Mode
  kFlagInt8Mask = 3u << kFlagInt8Shift,
  // Without kReceivesRows: many rows are expected, decode them as they come.
  kFlagChunked = 1u << 4,
  kFlagStreamed = 1u << 5,  // the same, even if each row takes a result
  kFlagDescribe = 1u << 6,  // of a query: nothing is executed, only its types are asked for
  kFlagWhole = 1u << 7,     // nobody looks at rows before all have come: numbers may be held back
  // Of a query without parameters, with nothing but a Sync before and behind it: may be sent by the
  // simple protocol, which is less work for the server.
  kFlagSimple = 1u << 8,
  kFlagDecodeMask = kFlagRawText | kFlagInt8Mask,
};

enum class Int8Mode : uint32_t { kString = 0, kNumber = 1, kBigInt = 2 };

// --- Up: Int32 events, 8-byte cells, text chunks -----------------------------
// A text is (offset, length) in UTF-16 units: offset >= 0 points into the
// chunk's ASCII string, ~offset into its wide string.
enum class Event : int32_t {
  kChunk = 1,           // index: texts below refer to this chunk
  kShape = 2,           // id, field count, then kShapeFieldInts per field
  kShapesCleared = 3,   // ids given so far are void
  kRows = 4,            // slot, shape id, row count, first cell, 1 if a value may be NULL
  kComplete = 5,        // slot, CommandTag, affected rows low, high
  kCompleteOther = 6,   // slot, tag text; kFlagDescribe: the OIDs of the parameters, by spaces
  kEmptyQuery = 7,      // slot
  kError = 8,           // slot, phase, field count, then (code, text) per field
  kAborted = 9,         // slot, phase
  kSync = 10,           // slot, transaction status or -1 while more is pending, cost in us
  kNotSent = 11,        // slot, NotSentReason, detail
  kUnreadable = 12,     // slot, column
  kConnected = 13,      // connection, process id, server version
  kConnectFailed = 14,  // connection, message text
  kLost = 15,           // connection, message text, slot count, slots
  kNotice = 16,         // connection, slot, field count, then (code, text) per field
  kNotification = 17,   // connection, process id, channel text, payload text
  kParsed = 18,         // slot
  kRoundTrip = 19,      // connection, us: a new shortest round trip
  kCopyIn = 20,         // slot, 1 when binary, columns
  kCopyOut = 21,        // slot, 1 when binary, columns
  kCopyData = 22,       // slot, offset and length in the chunk's bytes
  kCopyDrained = 23,    // slot: the data that were put have been sent
  kCancelled = 24,      // connection, 1 if the server has received it, message text
  kCopyBoth = 25,       // slot: replication has begun; each message is a kCopyData of its own
};

constexpr int kShapeFieldInts = 9;  // name text, table, column, type, size,
                                    // modifier, format, CellKind|binary flag
constexpr int32_t kFieldBinaryDecodable = 1 << 8;

// Which command of a slot an error or abort belongs to.
enum class Phase : int32_t { kParse = 0, kExecute = 1, kClose = 2, kSync = 3, kSimple = 4 };

enum class NotSentReason : int32_t {
  kConnectionGone = 0,  // detail: 1 when libpq may have sent a part of it
  kNulByte = 1,         // detail: parameter index, -1 for the statement text
  kTooLarge = 2,
};

enum class CommandTag : int32_t {
  kSelect = 1,
  kInsert = 2,
  kUpdate = 3,
  kDelete = 4,
  kMerge = 5,
};

// A cell is 8 bytes; NULL is -1 in its upper half, whatever the kind.
enum class CellKind : int32_t {
  kText = 0,         // low: offset, high: length
  kInt32 = 1,        // low
  kUint32 = 2,       // low
  kBool = 3,         // low: 0 or 1
  kFloat64 = 4,      // the double
  kInt8Number = 5,   // the double; kUnsafeIntegerHigh when it does not fit
  kBigInt = 6,       // two cells: NULL marker, then the int64
  kTimestampTz = 7,  // double: ms since 1970, +-Infinity
  kTimestamp = 8,    // double: the local fields as if they were UTC
  kDate = 9,         // as kTimestamp, at midnight
  kJson = 10,        // two cells: index in the JSON array; offset, length
  kBytes = 11,       // low: offset, high: length
};

constexpr int32_t kNullHigh = -1;
constexpr uint32_t kCanonicalNanHigh = 0x7FF80000u;
constexpr uint32_t kUnsafeIntegerHigh = 0x7FF80BADu;

}  // namespace pg_conduit
