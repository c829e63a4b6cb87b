// See binary_value.h.
#include "binary_value.h"

#include <limits>

namespace pg_conduit {

namespace {

// Milliseconds from 1970-01-01 to PostgreSQL's epoch, 2000-01-01.
constexpr double kPostgresEpochMillis = 946684800000.0;
constexpr double kMillisPerDay = 86400000.0;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// numeric_send's signs.
constexpr uint16_t kPositive = 0x0000;
constexpr uint16_t kNegative = 0x4000;
constexpr uint16_t kNaN = 0xC000;
constexpr uint16_t kPlusInfinity = 0xD000;
constexpr uint16_t kMinusInfinity = 0xF000;

uint16_t ReadUint16(std::string_view bytes, size_t at) {
  return ReadBigEndian16(bytes.data() + at);
}

// 16 for what is not a hexadecimal digit.
unsigned HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return 16;
}

bool IsOctal(char c, char highest) { return c >= '0' && c <= highest; }

// `count` decimal digits of `value`.
void PutDigits(int value, int count, char* out) {
  for (int at = count - 1; at >= 0; --at, value /= 10) {
    out[at] = static_cast<char>('0' + value % 10);
  }
}

// A group of numeric's digits, base 10000.
void AppendGroup(int group, bool is_first, std::string* out) {
  char text[4];
  PutDigits(group, 4, text);
  size_t skipped = 0;
  while (is_first && skipped < 3 && text[skipped] == '0') ++skipped;
  out->append(text + skipped, sizeof(text) - skipped);
}

}  // namespace

double TimestampMillis(int64_t micros) {
  if (micros == std::numeric_limits<int64_t>::max()) return kInfinity;
  if (micros == std::numeric_limits<int64_t>::min()) return -kInfinity;
  int64_t millis = micros / 1000;
  if (micros % 1000 < 0) --millis;
  return static_cast<double>(millis) + kPostgresEpochMillis;
}

double DateMillis(int32_t days) {
  if (days == std::numeric_limits<int32_t>::max()) return kInfinity;
  if (days == std::numeric_limits<int32_t>::min()) return -kInfinity;
  return days * kMillisPerDay + kPostgresEpochMillis;
}

bool AppendTime(int64_t micros, std::string* out) {
  constexpr int64_t kMicrosPerSecond = 1000000;
  if (micros < 0 || micros > 86400 * kMicrosPerSecond) return false;
  const auto seconds = static_cast<int>(micros / kMicrosPerSecond);
  const auto fraction = static_cast<int>(micros % kMicrosPerSecond);
  char text[] = "00:00:00.000000";
  PutDigits(seconds / 3600, 2, text);
  PutDigits(seconds / 60 % 60, 2, text + 3);
  PutDigits(seconds % 60, 2, text + 6);
  PutDigits(fraction, 6, text + 9);
  size_t length = fraction == 0 ? 8 : 15;
  while (fraction != 0 && text[length - 1] == '0') --length;
  out->append(text, length);
  return true;
}

bool AppendUuid(std::string_view value, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  if (value.size() != 16) return false;
  char text[36];
  char* at = text;
  for (size_t index = 0; index < value.size(); ++index) {
    if (index == 4 || index == 6 || index == 8 || index == 10) *at++ = '-';
    const auto byte = static_cast<unsigned char>(value[index]);
    *at++ = kHex[byte >> 4];
    *at++ = kHex[byte & 15];
  }
  out->append(text, sizeof(text));
  return true;
}

// numeric_send: digit count, weight, sign, display scale, digits base 10000.
bool AppendNumeric(std::string_view value, std::string* out) {
  constexpr size_t kHeader = 8;
  constexpr int kMaxScale = 0x3FFF;
  constexpr int kMaxGroup = 9999;
  if (value.size() < kHeader) return false;
  const int digits = ReadUint16(value, 0);
  const int weight = static_cast<int16_t>(ReadUint16(value, 2));
  const uint16_t sign = ReadUint16(value, 4);
  const int scale = ReadUint16(value, 6);
  if (value.size() != kHeader + static_cast<size_t>(digits) * 2 || scale > kMaxScale) return false;
  switch (sign) {
    case kPositive:
    case kNegative:
      break;
    case kNaN:
      out->append("NaN");
      return true;
    case kPlusInfinity:
      out->append("Infinity");
      return true;
    case kMinusInfinity:
      out->append("-Infinity");
      return true;
    default:
      return false;
  }
  for (int index = 0; index < digits; ++index) {
    if (ReadUint16(value, kHeader + static_cast<size_t>(index) * 2) > kMaxGroup) return false;
  }
  const auto group = [&](int index) -> int {
    if (index < 0 || index >= digits) return 0;
    return ReadUint16(value, kHeader + static_cast<size_t>(index) * 2);
  };
  if (sign == kNegative) out->push_back('-');
  if (weight < 0) out->push_back('0');
  for (int index = 0; index <= weight; ++index) AppendGroup(group(index), index == 0, out);
  if (scale > 0) {
    out->push_back('.');
    const size_t end = out->size() + static_cast<size_t>(scale);
    for (int index = weight + 1; out->size() < end; ++index) {
      AppendGroup(group(index), false, out);
    }
    out->resize(end);
  }
  return true;
}

bool AppendTextBytes(std::string_view text, std::string* out) {
  if (text.substr(0, 2) == "\\x") {
    text.remove_prefix(2);
    if (text.size() % 2 != 0) return false;
    out->reserve(out->size() + text.size() / 2);
    for (size_t at = 0; at < text.size(); at += 2) {
      const unsigned high = HexDigit(text[at]);
      const unsigned low = HexDigit(text[at + 1]);
      if (high > 15 || low > 15) return false;
      out->push_back(static_cast<char>(high << 4 | low));
    }
    return true;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      out->push_back(text[at]);
      continue;
    }
    const std::string_view escape = text.substr(at + 1, 3);
    if (!escape.empty() && escape[0] == '\\') {
      out->push_back('\\');
      at += 1;
    } else if (escape.size() == 3 && IsOctal(escape[0], '3') && IsOctal(escape[1], '7') &&
               IsOctal(escape[2], '7')) {
      const int byte = (escape[0] - '0') * 64 + (escape[1] - '0') * 8 + (escape[2] - '0');
      out->push_back(static_cast<char>(byte));
      at += 3;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace pg_conduit
