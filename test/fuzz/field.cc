// Fuzz target: src/field_decoder.cc and binary_value.cc. Any bytes as any type
// must stay within the delivery; a value written in both of PostgreSQL's formats
// must become the same cell; and what has one format only is compared with a
// second reading of it. Built and run by scripts/fuzz.js.
#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "../../src/binary_value.h"
#include "../../src/field_decoder.h"
#include "check.h"

using namespace pg_conduit;

namespace {

constexpr int kTextFormat = 0;
constexpr int kBinaryFormat = 1;

enum : Oid {
  kBool = 16,
  kBytea = 17,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kText = 25,
  kOid = 26,
  kJson = 114,
  kFloat4 = 700,
  kFloat8 = 701,
  kDate = 1082,
  kTime = 1083,
  kTimestamp = 1114,
  kTimestampTz = 1184,
  kNumeric = 1700,
  kUuid = 2950,
  kJsonb = 3802,
  kPoint = 600,
};
constexpr Oid kTypes[] = {kBool, kBytea,     kInt8,        kInt2,    kInt4,  kText,
                          kOid,  kJson,      kFloat4,      kFloat8,  kDate,  kTime,
                          kUuid, kTimestamp, kTimestampTz, kNumeric, kJsonb, kPoint};

constexpr int64_t kMaxDate = 8640000000000000;

// One cell, with what it refers to.
struct Value {
  bool ok = false;
  CellKind kind = CellKind::kText;
  uint64_t cell[2] = {0, 0};
  std::u16string text;
  std::string bytes;  // of kBytes, and of kJson
};

int32_t Half(uint64_t cell, int index) {
  int32_t pair[2];
  std::memcpy(pair, &cell, sizeof(pair));
  return pair[index];
}

Value Decode(Oid type, int format, uint32_t flags, std::string_view value_bytes,
             Delivery* delivery) {
  // In memory of just that size, so that the sanitizer sees its end.
  const std::vector<char> exact(value_bytes.begin(), value_bytes.end());
  const std::string_view bytes(exact.data(), exact.size());
  const ColumnPlan plan = PlanColumn(type, format, flags);
  Value value;
  value.kind = plan.kind;
  value.ok = DecodeField(plan, bytes, delivery, value.cell);
  if (!value.ok) return value;
  // NULL is known by this, whatever the kind.
  CHECK(plan.kind == CellKind::kBigInt || Half(value.cell[0], 1) != kNullHigh);
  const TextChunk& chunk = delivery->text();
  const int32_t offset = Half(value.cell[0], 0);
  const int32_t length = Half(value.cell[0], 1);
  if (plan.kind == CellKind::kText) {
    CHECK(length >= 0);
    const size_t start = static_cast<size_t>(offset >= 0 ? offset : ~offset);
    const auto size = static_cast<size_t>(length);
    if (offset >= 0) {
      CHECK(start + size <= chunk.ascii.size());
      for (const char c : std::string_view(chunk.ascii).substr(start, size)) {
        value.text.push_back(static_cast<unsigned char>(c));
      }
    } else {
      CHECK(start + size <= chunk.wide.size());
      value.text = chunk.wide.substr(start, size);
    }
  } else if (plan.kind == CellKind::kBytes) {
    CHECK(offset >= 0 && length >= 0);
    CHECK(static_cast<size_t>(offset) + static_cast<size_t>(length) <= chunk.bytes.size());
    value.bytes = chunk.bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(length));
  } else if (plan.kind == CellKind::kJson) {
    CHECK(offset == chunk.json_count - 1);
    const std::u16string json = fuzz::ToUtf16(chunk.json);
    CHECK(json.size() == chunk.json_units);
    const auto start = static_cast<size_t>(Half(value.cell[1], 0));
    const auto size = static_cast<size_t>(Half(value.cell[1], 1));
    CHECK(start + size <= json.size());
    value.text = json.substr(start, size);
  }
  return value;
}

std::string BigEndian(uint64_t value, int size) {
  std::string bytes;
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

std::u16string Widen(const std::string& ascii) { return {ascii.begin(), ascii.end()}; }

void CheckSame(const Value& a, const Value& b) {
  CHECK(a.ok && b.ok && a.kind == b.kind && a.text == b.text && a.bytes == b.bytes);
  if (a.kind == CellKind::kText || a.kind == CellKind::kBytes || a.kind == CellKind::kJson) return;
  CHECK(a.cell[0] == b.cell[0]);
  if (a.kind == CellKind::kBigInt) CHECK(a.cell[1] == b.cell[1]);
}

double AsDouble(uint64_t cell) {
  double value;
  std::memcpy(&value, &cell, sizeof(value));
  return value;
}

int64_t FloorDivide(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

template <typename Number>
std::string FormatNumber(const char* format, Number number) {
  char text[64];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

std::string FormatDouble(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return FormatNumber("%.17g", number);
}

// numeric_out, digit by digit of the decimal number.
std::string FormatNumeric(const std::string& groups, int weight, bool is_negative, int scale) {
  const auto digit_at = [&](int exponent) -> char {
    const int index = weight - static_cast<int>(FloorDivide(exponent, 4));
    if (index < 0 || static_cast<size_t>(index) * 2 >= groups.size()) return '0';
    const size_t at = static_cast<size_t>(index) * 2;
    int group =
        static_cast<unsigned char>(groups[at]) * 256 + static_cast<unsigned char>(groups[at + 1]);
    for (int n = exponent - 4 * static_cast<int>(FloorDivide(exponent, 4)); n > 0; --n) group /= 10;
    return static_cast<char>('0' + group % 10);
  };
  std::string text;
  for (int exponent = 4 * weight + 3; exponent >= 0; --exponent) {
    const char digit = digit_at(exponent);
    if (!text.empty() || digit != '0') text.push_back(digit);
  }
  if (text.empty()) text = "0";
  if (scale > 0) text.push_back('.');
  for (int exponent = -1; exponent >= -scale; --exponent) text.push_back(digit_at(exponent));
  return is_negative ? "-" + text : text;
}

void CheckNumeric(FuzzedDataProvider* data, Delivery* delivery) {
  std::string groups;
  const int count = data->ConsumeIntegralInRange(0, 12);
  for (int n = 0; n < count; ++n) {
    groups += BigEndian(data->ConsumeIntegralInRange<uint16_t>(n == 0 ? 1 : 0, 9999), 2);
  }
  const int weight = data->ConsumeIntegralInRange(-20, 20);
  const bool is_negative = data->ConsumeBool();
  const int scale = data->ConsumeIntegralInRange(0, 60);
  const std::string bytes =
      BigEndian(static_cast<uint64_t>(count), 2) + BigEndian(static_cast<uint16_t>(weight), 2) +
      BigEndian(is_negative ? 0x4000 : 0, 2) + BigEndian(static_cast<uint64_t>(scale), 2) + groups;
  const Value value = Decode(kNumeric, kBinaryFormat, 0, bytes, delivery);
  CHECK(value.ok);
  // Zero's weight means nothing, and the server sends 0.
  if (count == 0 && weight > 0) return;
  CHECK(value.text == Widen(FormatNumeric(groups, weight, is_negative, scale)));
}

void CheckBytea(const std::string& bytes, Delivery* delivery) {
  std::string hex = "\\x";
  std::string escaped;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += FormatNumber("%02x", byte);
    if (c == '\\') {
      escaped += "\\\\";
    } else if (byte < 0x20 || byte > 0x7E) {
      escaped += FormatNumber("\\%03o", byte);
    } else {
      escaped.push_back(c);
    }
  }
  const Value binary = Decode(kBytea, kBinaryFormat, 0, bytes, delivery);
  CHECK(binary.bytes == bytes);
  CheckSame(binary, Decode(kBytea, kTextFormat, 0, hex, delivery));
  CheckSame(binary, Decode(kBytea, kTextFormat, 0, escaped, delivery));
}

void CheckInteger(Oid type, int size, uint64_t bits, const std::string& text, uint32_t flags,
                  Delivery* delivery) {
  CheckSame(Decode(type, kBinaryFormat, flags, BigEndian(bits, size), delivery),
            Decode(type, kTextFormat, flags, text, delivery));
}

void CheckFormats(FuzzedDataProvider* data, Delivery* delivery) {
  const uint32_t int8_flags = data->ConsumeIntegralInRange(0u, 2u) << kFlagInt8Shift;
  const uint64_t bits = data->ConsumeIntegral<uint64_t>();
  const auto signed_bits = static_cast<int64_t>(bits);
  const auto low_bits = static_cast<int32_t>(bits);
  const auto short_bits = static_cast<int16_t>(bits);
  CheckInteger(kInt8, 8, bits, std::to_string(signed_bits), int8_flags, delivery);
  CheckInteger(kInt4, 4, bits, std::to_string(low_bits), 0, delivery);
  CheckInteger(kInt2, 2, bits, std::to_string(short_bits), 0, delivery);
  CheckInteger(kOid, 4, bits, std::to_string(static_cast<uint32_t>(bits)), 0, delivery);
  CheckInteger(kBool, 1, bits & 1, (bits & 1) != 0 ? "t" : "f", 0, delivery);
  double number;
  std::memcpy(&number, &bits, sizeof(number));
  CheckInteger(kFloat8, 8, bits, FormatDouble(number), 0, delivery);

  const std::string eight = BigEndian(bits, 8);
  const double millis = AsDouble(Decode(kTimestampTz, kBinaryFormat, 0, eight, delivery).cell[0]);
  CHECK(millis == AsDouble(Decode(kTimestamp, kBinaryFormat, 0, eight, delivery).cell[0]));
  if (signed_bits == std::numeric_limits<int64_t>::max()) {
    CHECK(millis == std::numeric_limits<double>::infinity());
  } else if (signed_bits == std::numeric_limits<int64_t>::min()) {
    CHECK(millis == -std::numeric_limits<double>::infinity());
  } else {
    const int64_t exact = FloorDivide(signed_bits, 1000) + 946684800000;
    // Beyond, both are no Date of JavaScript's, and a double may be rounded twice.
    if (exact > kMaxDate || exact < -kMaxDate) {
      CHECK(std::abs(millis) > static_cast<double>(kMaxDate));
    } else {
      CHECK(millis == static_cast<double>(exact));
    }
  }
  const Value time = Decode(kTime, kBinaryFormat, 0, eight, delivery);
  const bool is_time = signed_bits >= 0 && signed_bits <= 86400000000;
  CHECK(time.ok == is_time);
  const int64_t micros = data->ConsumeIntegralInRange<int64_t>(0, 86400000000);
  std::string text = FormatNumber("%02d:", static_cast<int>(micros / 3600000000)) +
                     FormatNumber("%02d:", static_cast<int>(micros / 60000000 % 60)) +
                     FormatNumber("%09.6f", static_cast<double>(micros % 60000000) / 1e6);
  while (text.back() == '0' && text.find('.') != std::string::npos) text.pop_back();
  if (text.back() == '.') text.pop_back();
  const Value any_time =
      Decode(kTime, kBinaryFormat, 0, BigEndian(static_cast<uint64_t>(micros), 8), delivery);
  CHECK(any_time.ok && any_time.text == Widen(text));

  CheckNumeric(data, delivery);
  CheckBytea(data->ConsumeRandomLengthString(64), delivery);
  const std::string utf8 = data->ConsumeRemainingBytesAsString();
  for (const Oid type : {kText, kPoint}) {
    const Value value = Decode(type, kTextFormat, 0, utf8, delivery);
    CHECK(value.ok && value.text == fuzz::ToUtf16(utf8));
  }
  CheckSame(Decode(kText, kBinaryFormat, 0, utf8, delivery),
            Decode(kText, kTextFormat, 0, utf8, delivery));
  const Value json = Decode(kJson, kTextFormat, 0, utf8, delivery);
  CHECK(json.ok && json.text == fuzz::ToUtf16(utf8));
  CheckSame(json, Decode(kJsonb, kBinaryFormat, 0, "\1" + utf8, delivery));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  Delivery delivery;
  if (data.ConsumeBool()) {
    CheckFormats(&data, &delivery);
    return 0;
  }
  const Oid type = data.PickValueInArray(kTypes);
  const int format = data.ConsumeIntegralInRange(0, 1);
  const uint32_t flags = data.ConsumeIntegral<uint32_t>() & kFlagDecodeMask;
  const std::string value = data.ConsumeRemainingBytesAsString();
  Decode(type, format, flags, value, &delivery);
  if ((flags & kFlagRawText) != 0 && format == kTextFormat) {
    CHECK(Decode(type, format, flags, value, &delivery).text == fuzz::ToUtf16(value));
  }
  return 0;
}
