// See delivery.h.
#include "delivery.h"

#include <algorithm>
#include <cstring>

namespace pg_conduit {

namespace {

constexpr size_t kChunkTextLimit = size_t{8} << 10;
constexpr size_t kChunkBulkLimit = size_t{1} << 20;  // JSON and bytes are not kept alive
constexpr size_t kKeptCapacity = size_t{1} << 20;
constexpr size_t kKeptChunks = 4;

template <typename Container>
void ClearAndShrink(Container* container) {
  if (container->capacity() * sizeof((*container)[0]) > kKeptCapacity) {
    Container().swap(*container);
  } else {
    container->clear();
  }
}

// The code point that starts at `at`, or U+FFFD for a malformed sequence, of
// which the longest valid prefix is consumed (WHATWG Encoding, section 4.5).
char32_t DecodeOne(std::string_view text, size_t* at) {
  constexpr char32_t kReplacement = 0xFFFD;
  const auto byte = [&](size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char lead = byte((*at)++);
  if (lead < 0x80) return lead;
  int more = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  char32_t point = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    more = 1;
    point = lead & 0x1Fu;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    more = 2;
    point = lead & 0x0Fu;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    more = 3;
    point = lead & 0x07u;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return kReplacement;
  }
  for (; more > 0; --more) {
    if (*at >= text.size() || byte(*at) < low || byte(*at) > high) return kReplacement;
    point = (point << 6) | (byte((*at)++) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return point;
}

size_t CountUtf16(std::string_view utf8) {
  size_t units = 0;
  for (size_t at = 0; at < utf8.size();) units += DecodeOne(utf8, &at) < 0x10000 ? 1 : 2;
  return units;
}

// The start of the character that the byte at `at` is a part of.
size_t CharacterStart(std::string_view utf8, size_t at) {
  const auto is_inside = [&](size_t index) {
    return (static_cast<unsigned char>(utf8[index]) & 0xC0) == 0x80;
  };
  size_t start = at;
  while (start > 0 && at - start < 3 && is_inside(start)) --start;
  return is_inside(start) ? at : start;
}

}  // namespace

bool IsAscii(std::string_view text) {
  const char* at = text.data();
  size_t left = text.size();
  uint64_t seen = 0;
  for (; left >= sizeof(uint64_t); at += sizeof(uint64_t), left -= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    seen |= word;
  }
  for (; left > 0; ++at, --left) seen |= static_cast<unsigned char>(*at);
  return (seen & 0x8080808080808080u) == 0;
}

size_t AppendUtf16(std::string_view utf8, std::u16string* out) {
  const size_t before = out->size();
  for (size_t at = 0; at < utf8.size();) {
    char32_t point = DecodeOne(utf8, &at);
    if (point < 0x10000) {
      out->push_back(static_cast<char16_t>(point));
    } else {
      point -= 0x10000;
      out->push_back(static_cast<char16_t>(0xD800 + (point >> 10)));
      out->push_back(static_cast<char16_t>(0xDC00 + (point & 0x3FF)));
    }
  }
  return out->size() - before;
}

void Delivery::PushText(std::string_view utf8) {
  TextRef ref{0, 0};
  // Messages are short; a long one is truncated rather than lost.
  if (utf8.size() > kChunkBulkLimit) utf8 = utf8.substr(0, CharacterStart(utf8, kChunkBulkLimit));
  AppendText(utf8, &ref);
  PushInt(ref.offset);
  PushInt(ref.length);
}

bool Delivery::AppendText(std::string_view utf8, TextRef* ref) {
  TextChunk& chunk = text();
  if (IsAscii(utf8)) {
    if (chunk.ascii.size() + utf8.size() > kMaxStringLength) return false;
    ref->offset = static_cast<int32_t>(chunk.ascii.size());
    ref->length = static_cast<int32_t>(utf8.size());
    chunk.ascii.append(utf8);
    return true;
  }
  // The number of bytes is an upper bound of the units.
  if (chunk.wide.size() + utf8.size() > kMaxStringLength &&
      chunk.wide.size() + CountUtf16(utf8) > kMaxStringLength) {
    return false;
  }
  ref->offset = ~static_cast<int32_t>(chunk.wide.size());
  ref->length = static_cast<int32_t>(AppendUtf16(utf8, &chunk.wide));
  return true;
}

void Delivery::PushCopyData(int32_t slot, std::string_view data) {
  if (ChunkIsFull()) NextChunk();
  std::string& bytes = text().bytes;
  const auto size = static_cast<int32_t>(data.size());
  const bool is_next = copy_end_ != 0 && copy_end_ == events_.size();
  if (is_next && events_[copy_end_ - 3] == slot &&
      static_cast<size_t>(events_[copy_end_ - 2]) + static_cast<size_t>(events_[copy_end_ - 1]) ==
          bytes.size()) {
    events_[copy_end_ - 1] += size;
  } else {
    Push(Event::kCopyData, slot, bytes.size(), size);
    copy_end_ = events_.size();
  }
  bytes.append(data);
}

void Delivery::PushCopyMessage(int32_t slot, std::string_view data) {
  if (ChunkIsFull()) NextChunk();
  std::string& bytes = text().bytes;
  Push(Event::kCopyData, slot, bytes.size(), data.size());
  bytes.append(data);
}

bool Delivery::ChunkIsFull() const {
  if (chunk_count_ == 0) return false;
  const TextChunk& chunk = chunks_[chunk_count_ - 1];
  return chunk.ascii.size() > kChunkTextLimit || chunk.wide.size() * 2 > kChunkTextLimit ||
         chunk.json.size() > kChunkBulkLimit || chunk.bytes.size() > kChunkBulkLimit;
}

bool Delivery::ChunkIsEmpty() const {
  if (chunk_count_ == 0) return true;
  const TextChunk& chunk = chunks_[chunk_count_ - 1];
  return chunk.ascii.empty() && chunk.wide.empty() && chunk.json.empty() && chunk.bytes.empty();
}

TextChunk& Delivery::NextChunk() {
  if (chunk_count_ == chunks_.size()) chunks_.emplace_back();
  // The first chunk needs no event: every delivery starts in it.
  if (chunk_count_ > 0) Push(Event::kChunk, chunk_count_);
  return chunks_[chunk_count_++];
}

void Delivery::BeginResult() {
  if (chunk_count_ == 0) return;
  TextChunk& chunk = chunks_[chunk_count_ - 1];
  chunk.is_guard_due = chunk.json_count > 0;
}

bool Delivery::AppendJson(std::string_view text, uint64_t* cell) {
  constexpr size_t kMore = 32;  // brackets, commas, quotes and counts
  TextChunk& chunk = this->text();
  if (chunk.json.size() + text.size() + json_guard_.size() + kMore > kMaxStringLength) return false;
  const size_t units = IsAscii(text) ? text.size() : CountUtf16(text);
  const auto add = [&chunk](char before, std::string_view value, size_t value_units) {
    chunk.json.push_back(before);
    chunk.json.append(value);
    chunk.json_units += 1 + value_units;
    return chunk.json_count++;
  };
  if (chunk.is_guard_due) {
    add(',', json_guard_, json_guard_.size());
    ++chunk.json_guards;
    chunk.is_guard_due = false;
  }
  const int32_t index = add(chunk.json_count == 0 ? '[' : ',', text, units);
  const auto at = static_cast<int32_t>(chunk.json_units - units);
  const int32_t pairs[] = {index, 0, at, static_cast<int32_t>(units)};
  std::memcpy(cell, pairs, sizeof(pairs));
  return true;
}

void Delivery::FinishJson() {
  for (size_t index = 0; index < chunk_count_; ++index) {
    TextChunk& chunk = chunks_[index];
    if (chunk.json_count == 0) continue;
    chunk.json.push_back(',');
    chunk.json.append(std::to_string(chunk.json_guards));
    chunk.json.push_back(',');
    chunk.json.append(std::to_string(chunk.json_count));
    chunk.json.push_back(']');
  }
}

void Delivery::Clear() {
  ClearAndShrink(&events_);
  ClearAndShrink(&cells_);
  for (size_t index = 0; index < chunk_count_; ++index) {
    TextChunk& chunk = chunks_[index];
    ClearAndShrink(&chunk.ascii);
    ClearAndShrink(&chunk.wide);
    ClearAndShrink(&chunk.json);
    ClearAndShrink(&chunk.bytes);
    chunk.json_count = 0;
    chunk.json_guards = 0;
    chunk.is_guard_due = false;
    chunk.json_units = 0;
  }
  if (chunks_.size() > kKeptChunks) chunks_.resize(kKeptChunks);
  chunk_count_ = 0;
  copy_end_ = 0;
  rows_end_ = 0;
  held_end_ = 0;
}

}  // namespace pg_conduit
