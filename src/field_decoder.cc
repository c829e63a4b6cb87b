// See field_decoder.h.
#include "field_decoder.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "binary_value.h"
#include "fixed_decoder.h"

#ifdef __APPLE__
#include <xlocale.h>
#endif

namespace pg_conduit {

namespace {

// pg_type.dat; these are fixed for built-in types.
enum TypeOid : Oid {
  kBool = 16,
  kBytea = 17,
  kName = 19,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kTextType = 25,
  kOid = 26,
  kJsonType = 114,
  kXml = 142,
  kFloat4 = 700,
  kFloat8 = 701,
  kBpchar = 1042,
  kVarchar = 1043,
  kDate = 1082,
  kTime = 1083,
  kTimestamp = 1114,
  kTimestampTz = 1184,
  kNumeric = 1700,
  kUuid = 2950,
  kJsonb = 3802,
};

constexpr uint8_t kJsonbVersion = 1;

constexpr ColumnPlan kTextPlan{Codec::kText, CellKind::kText, 1};

template <typename Number>
bool ParseNumber(std::string_view text, Number* out) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *out);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

#ifdef __APPLE__

// libc++ on the systems that we support has no from_chars for doubles.
bool ParseFloat(std::string_view value, double* out) {
  const std::string text(value);  // with a NUL behind it
  // strtod accepts more: white space, a plus sign, hexadecimal digits.
  if (text.empty() || std::strchr("+ \t\n\v\f\r", text[0]) != nullptr) return false;
  if (text.find_first_of("xX") != std::string::npos) return false;
  char* end = nullptr;
  *out = strtod_l(text.c_str(), &end, nullptr);
  return end == text.c_str() + text.size();
}

#else

// from_chars reports overflow and underflow where strtod and JavaScript round to
// infinity and zero. A server does not send such text for float8.
bool ParseFloat(std::string_view text, double* out) { return ParseNumber(text, out); }

#endif

bool PutText(std::string_view text, Delivery* delivery, uint64_t* cell) {
  TextRef ref;
  if (!delivery->AppendText(text, &ref)) return false;
  *cell = PackPair(ref.offset, ref.length);
  return true;
}

bool PutBytes(std::string_view value, Delivery* delivery, uint64_t* cell) {
  std::string& bytes = delivery->text().bytes;
  if (bytes.size() + value.size() > std::numeric_limits<int32_t>::max()) return false;
  *cell = PackPair(static_cast<int32_t>(bytes.size()), static_cast<int32_t>(value.size()));
  bytes.append(value);
  return true;
}

// Bytes that are written as hexadecimal digits or as escapes.
bool PutTextBytes(std::string_view text, Delivery* delivery, uint64_t* cell) {
  std::string& bytes = delivery->text().bytes;
  const size_t before = bytes.size();
  if (before + text.size() > std::numeric_limits<int32_t>::max()) return false;
  if (!AppendTextBytes(text, &bytes)) {
    bytes.resize(before);
    return false;
  }
  *cell = PackPair(static_cast<int32_t>(before), static_cast<int32_t>(bytes.size() - before));
  return true;
}

// The text that `append` makes of the value, which is ASCII.
template <typename Value>
bool PutFormatted(bool (*append)(Value, std::string*), Value value, Delivery* delivery,
                  uint64_t* cell) {
  std::string& ascii = delivery->text().ascii;
  const size_t before = ascii.size();
  if (!append(value, &ascii) || ascii.size() > Delivery::kMaxStringLength) {
    ascii.resize(before);
    return false;
  }
  *cell = PackPair(static_cast<int32_t>(before), static_cast<int32_t>(ascii.size() - before));
  return true;
}

bool PutInt8Text(int64_t value, Delivery* delivery, uint64_t* cell) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return PutText(std::string_view(text, static_cast<size_t>(end - text)), delivery, cell);
}

ColumnPlan PlanInt8(bool binary, uint32_t flags) {
  switch (static_cast<Int8Mode>((flags & kFlagInt8Mask) >> kFlagInt8Shift)) {
    case Int8Mode::kNumber:
      return {binary ? Codec::kBinaryInt8Number : Codec::kTextInt8Number, CellKind::kInt8Number, 1};
    case Int8Mode::kBigInt:
      return {binary ? Codec::kBinaryBigInt : Codec::kTextBigInt, CellKind::kBigInt, 2};
    case Int8Mode::kString:
      break;
  }
  return {binary ? Codec::kBinaryInt8Text : Codec::kText, CellKind::kText, 1};
}

ColumnPlan PlanTextColumn(Oid type, uint32_t flags) {
  switch (type) {
    case kInt2:
    case kInt4:
      return {Codec::kTextInt32, CellKind::kInt32, 1};
    case kOid:
      return {Codec::kTextUint32, CellKind::kUint32, 1};
    case kBool:
      return {Codec::kTextBool, CellKind::kBool, 1};
    case kFloat4:
    case kFloat8:
      return {Codec::kTextFloat, CellKind::kFloat64, 1};
    case kInt8:
      return PlanInt8(false, flags);
    case kJsonType:
    case kJsonb:
      return {Codec::kJson, CellKind::kJson, 2};
    case kBytea:
      return {Codec::kTextBytes, CellKind::kBytes, 1};
    default:
      return kTextPlan;
  }
}

ColumnPlan PlanBinaryColumn(Oid type, uint32_t flags) {
  switch (type) {
    case kBool:
      return {Codec::kBinaryBool, CellKind::kBool, 1};
    case kBytea:
      return {Codec::kBinaryBytes, CellKind::kBytes, 1};
    case kInt8:
      return PlanInt8(true, flags);
    case kInt2:
      return {Codec::kBinaryInt2, CellKind::kInt32, 1};
    case kInt4:
      return {Codec::kBinaryInt4, CellKind::kInt32, 1};
    case kOid:
      return {Codec::kBinaryOid, CellKind::kUint32, 1};
    // Not float4: JavaScript's number is the one that its text stands for, and the server does not
    // choose the digits that std::to_chars does.
    case kFloat8:
      return {Codec::kBinaryFloat8, CellKind::kFloat64, 1};
    case kJsonType:
      return {Codec::kJson, CellKind::kJson, 2};
    case kJsonb:
      return {Codec::kBinaryJsonb, CellKind::kJson, 2};
    case kDate:
      return {Codec::kBinaryDate, CellKind::kDate, 1};
    case kTime:
      return {Codec::kBinaryTime, CellKind::kText, 1};
    case kTimestamp:
      return {Codec::kBinaryTimestamp, CellKind::kTimestamp, 1};
    case kTimestampTz:
      return {Codec::kBinaryTimestampTz, CellKind::kTimestampTz, 1};
    case kNumeric:
      return {Codec::kBinaryNumeric, CellKind::kText, 1};
    case kUuid:
      return {Codec::kBinaryUuid, CellKind::kText, 1};
    case kName:
    case kTextType:
    case kXml:
    case kBpchar:
    case kVarchar:
      return kTextPlan;
    default:
      return {Codec::kUnknownBinary, CellKind::kText, 1};
  }
}

}  // namespace

ColumnPlan PlanColumn(Oid type, int format, uint32_t flags) {
  if (format != 0) {
    ColumnPlan plan = PlanBinaryColumn(type, flags);
    plan.size = FixedSize(plan.codec);
    return plan;
  }
  return (flags & kFlagRawText) != 0 ? kTextPlan : PlanTextColumn(type, flags);
}

bool IsBinaryDecodable(Oid type) {
  return PlanBinaryColumn(type, 0).codec != Codec::kUnknownBinary;
}

bool DecodeField(const ColumnPlan& plan, std::string_view value, Delivery* delivery,
                 uint64_t* cell) {
  const size_t size = value.size();
  const char* const bytes = value.data();
  if (plan.size != 0) {
    if (size != plan.size) return false;
    DecodeFixed(plan.codec, bytes, cell);
    return true;
  }
  switch (plan.codec) {
    case Codec::kText:
      return PutText(value, delivery, cell);
    case Codec::kTextInt32: {
      int32_t number = 0;
      if (!ParseNumber(value, &number)) return false;
      *cell = PackPair(number, 0);
      return true;
    }
    case Codec::kTextUint32: {
      uint32_t number = 0;
      if (!ParseNumber(value, &number)) return false;
      *cell = PackPair(static_cast<int32_t>(number), 0);
      return true;
    }
    case Codec::kTextBool:
      if (value != "t" && value != "f") return false;
      *cell = PackPair(value == "t", 0);
      return true;
    case Codec::kTextFloat: {
      double number = 0;
      if (!ParseFloat(value, &number)) return false;
      *cell = PackDouble(number);
      return true;
    }
    case Codec::kTextInt8Number: {
      int64_t number = 0;
      if (!ParseNumber(value, &number)) return false;
      *cell = PackSafeInteger(number);
      return true;
    }
    case Codec::kTextBigInt: {
      int64_t number = 0;
      if (!ParseNumber(value, &number)) return false;
      PutBigInt(number, cell);
      return true;
    }
    case Codec::kTextBytes:
      return PutTextBytes(value, delivery, cell);
    case Codec::kJson:
      return delivery->AppendJson(value, cell);
    case Codec::kBinaryJsonb:
      if (size < 1 || static_cast<uint8_t>(value[0]) != kJsonbVersion) return false;
      return delivery->AppendJson(value.substr(1), cell);
    case Codec::kBinaryInt8Text:
      if (size != 8) return false;
      return PutInt8Text(static_cast<int64_t>(ReadBigEndian64(bytes)), delivery, cell);
    case Codec::kBinaryTime:
      if (size != 8) return false;
      return PutFormatted(AppendTime, static_cast<int64_t>(ReadBigEndian64(bytes)), delivery, cell);
    case Codec::kBinaryUuid:
      return PutFormatted(AppendUuid, value, delivery, cell);
    case Codec::kBinaryNumeric:
      return PutFormatted(AppendNumeric, value, delivery, cell);
    case Codec::kBinaryBytes:
      return PutBytes(value, delivery, cell);
    default:
      return false;
  }
}

}  // namespace pg_conduit
