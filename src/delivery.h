// What one turn of the event loop has to report to JavaScript: events, cells and text chunks. They
// are collected while libpq is drained, and handed over in one call (AddonData::Deliver). Written
// by Pipeline, Connector, Cancel and RowWriter; independent of N-API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire_format.h"

namespace pg_conduit {

// Text that was collected for one run of events. Small on purpose: a JavaScript substring of 13
// characters or more keeps its whole chunk alive.
struct TextChunk {
  std::string ascii;
  std::u16string wide;
  std::string json;  // "[value,value,guard,value", ended by FinishJson
  std::string bytes;
  int32_t json_count = 0;  // of values and guards
  int32_t json_guards = 0;
  bool is_guard_due = false;  // before the next value
  uint64_t json_units = 0;    // UTF-16 units in `json`
};

struct TextRef {
  int32_t offset;
  int32_t length;
};

// In the place of a slot: no query waits for it.
constexpr int32_t kNoSlot = -1;

// Does not write zeros where values are written next.
template <typename Value>
struct UnsetAllocator : std::allocator<Value> {
  template <typename Other>
  struct rebind {
    using other = UnsetAllocator<Other>;
  };
  using std::allocator<Value>::allocator;
  template <typename Other>
  void construct(Other* at) {
    ::new (static_cast<void*>(at)) Other;
  }
};

class Delivery {
 public:
  using Cells = std::vector<uint64_t, UnsetAllocator<uint64_t>>;

  // V8 refuses longer strings (String::kMaxLength on 64 bit).
  static constexpr size_t kMaxStringLength = (size_t{1} << 29) - 24;
  // 256 kB: JavaScript copies as many in less than 0.1 ms.
  static constexpr size_t kMaxHeldCells = size_t{1} << 15;

  bool empty() const { return events_.empty(); }
  const std::vector<int32_t>& events() const { return events_; }
  const Cells& cells() const { return cells_; }
  size_t chunk_count() const { return chunk_count_; }
  const TextChunk& chunk(size_t index) const { return chunks_[index]; }

  template <typename... Ints>
  void Push(Event event, Ints... ints) {
    const int32_t values[] = {static_cast<int32_t>(event), static_cast<int32_t>(ints)...};
    events_.insert(events_.end(), std::begin(values), std::end(values));
  }
  // For an event with texts, which JavaScript may keep for long. If the chunk is full they begin
  // another one, so that they do not keep a row of many MB alive.
  template <typename... Ints>
  void PushWithText(Event event, Ints... ints) {
    if (ChunkIsFull()) NextChunk();
    Push(event, ints...);
  }
  void PushInt(int32_t value) { events_.push_back(value); }
  void PushText(std::string_view utf8);
  // Appends to the chunk's bytes, and extends the event before if it can.
  void PushCopyData(int32_t slot, std::string_view data);
  // As one event, whatever comes before and after: a message of replication.
  void PushCopyMessage(int32_t slot, std::string_view data);
  // For counts that are known only afterwards: Patch() writes an int of an event at its Mark().
  size_t Mark() const { return events_.size(); }
  void Patch(size_t mark, int32_t value) { events_[mark] = value; }

  // Cells: reserve whole rows, then write all of them through the pointer.
  size_t cell_count() const { return cells_.size(); }
  uint64_t* AddCells(size_t count) {
    cells_.resize(cells_.size() + count);
    return cells_.data() + cells_.size() - count;
  }
  void DropCells(size_t count) { cells_.resize(cells_.size() - count); }

  // More rows of a query: extends the kRows event before if that is the last event and of the same
  // query, else begins one. Between AtRows() and PushRows() nothing may be pushed but cells and
  // texts.
  bool AtRows(int32_t slot, int32_t shape) const {
    return rows_end_ != 0 && rows_end_ == events_.size() && events_[rows_end_ - 5] == slot &&
           events_[rows_end_ - 4] == shape;
  }
  void PushRows(int32_t slot, int32_t shape, size_t count, size_t first_cell, bool has_nulls) {
    if (AtRows(slot, shape)) {
      events_[rows_end_ - 3] += static_cast<int32_t>(count);
      if (has_nulls) events_[rows_end_ - 1] = 1;
      return;
    }
    Push(Event::kRows, slot, shape, count, first_cell, has_nulls);
    rows_end_ = events_.size();
  }

  // All that is there are rows that may wait for more of their results: until something else is
  // pushed, or until they are many.
  void HoldBack() { held_end_ = events_.size(); }
  bool IsHeldBack() const {
    return held_end_ != 0 && held_end_ == events_.size() && cells_.size() < kMaxHeldCells;
  }

  TextChunk& text() { return chunk_count_ == 0 ? NextChunk() : chunks_[chunk_count_ - 1]; }
  // False if a string of this chunk would be longer than V8 allows.
  bool AppendText(std::string_view utf8, TextRef* ref);
  bool ChunkIsFull() const;
  bool ChunkIsEmpty() const;
  // Ends the current chunk. Call between events, never inside one.
  TextChunk& NextChunk();

  // What follows belongs to another query. Between the JSON of two queries there is a guard, a
  // string that no server can guess: a server that sends invalid JSON ("[1", and later "2]") must
  // not take in a neighbour's value.
  void BeginResult();
  void SetJsonGuard(std::string guard) { json_guard_ = std::move(guard); }
  // False if the string would be longer than V8 allows.
  bool AppendJson(std::string_view text, uint64_t* cell);
  // Ends each chunk's JSON array with the number of its guards, and that of values and guards, by
  // which JavaScript sees whether each value was one value.
  void FinishJson();

  // Forgets what was delivered, and frees the memory that only one large delivery needed.
  void Clear();

 private:
  std::vector<int32_t> events_;
  Cells cells_;
  std::vector<TextChunk> chunks_;  // reused: only chunk_count_ are in use
  size_t chunk_count_ = 0;
  std::string json_guard_;
  size_t copy_end_ = 0;  // where the latest kCopyData ends, 0 when there is none
  size_t held_end_ = 0;  // where HoldBack() was called, 0 when it was not
  size_t rows_end_ = 0;  // where the latest kRows of PushRows() ends, 0 when there is none
};

bool IsAscii(std::string_view text);
// Appends UTF-8 as UTF-16. What is not valid becomes U+FFFD, as in Node.js's own decoder. Returns
// the number of units appended.
size_t AppendUtf16(std::string_view utf8, std::u16string* out);

}  // namespace pg_conduit
