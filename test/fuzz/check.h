// What the fuzz targets have in common: a check that ends the process, and a
// second reading of UTF-8, by the table of well-formed sequences (Unicode
// standard, table 3-7) instead of by states as in src/delivery.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

namespace fuzz {

struct WellFormed {
  size_t length;
  unsigned char low[4];
  unsigned char high[4];
};

constexpr WellFormed kWellFormed[] = {
    {1, {0x00}, {0x7F}},
    {2, {0xC2, 0x80}, {0xDF, 0xBF}},
    {3, {0xE0, 0xA0, 0x80}, {0xE0, 0xBF, 0xBF}},
    {3, {0xE1, 0x80, 0x80}, {0xEC, 0xBF, 0xBF}},
    {3, {0xED, 0x80, 0x80}, {0xED, 0x9F, 0xBF}},
    {3, {0xEE, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}},
    {4, {0xF0, 0x90, 0x80, 0x80}, {0xF0, 0xBF, 0xBF, 0xBF}},
    {4, {0xF1, 0x80, 0x80, 0x80}, {0xF3, 0xBF, 0xBF, 0xBF}},
    {4, {0xF4, 0x80, 0x80, 0x80}, {0xF4, 0x8F, 0xBF, 0xBF}},
};

// What a conforming decoder makes of it, with U+FFFD for each maximal subpart.
inline std::u16string ToUtf16(std::string_view utf8) {
  static constexpr uint32_t kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::u16string units;
  for (size_t at = 0; at < utf8.size();) {
    size_t matched = 0;
    bool is_whole = false;
    for (const WellFormed& form : kWellFormed) {
      size_t length = 0;
      while (length < form.length && at + length < utf8.size()) {
        const auto byte = static_cast<unsigned char>(utf8[at + length]);
        if (byte < form.low[length] || byte > form.high[length]) break;
        ++length;
      }
      if (length > matched) matched = length;
      is_whole = is_whole || length == form.length;
    }
    if (!is_whole) {
      units.push_back(u'\uFFFD');
      at += matched == 0 ? 1 : matched;
      continue;
    }
    uint32_t point = static_cast<unsigned char>(utf8[at]) & kLeadBits[matched];
    for (size_t more = 1; more < matched; ++more) {
      point = point * 64 + (static_cast<unsigned char>(utf8[at + more]) - 0x80);
    }
    if (point < 0x10000) {
      units.push_back(static_cast<char16_t>(point));
    } else {
      units.push_back(static_cast<char16_t>(0xD7C0 + point / 0x400));
      units.push_back(static_cast<char16_t>(0xDC00 + point % 0x400));
    }
    at += matched;
  }
  return units;
}

}  // namespace fuzz
