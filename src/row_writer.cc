// See row_writer.h.
#include "row_writer.h"

#include <string_view>
#include <utility>

#include "binary_value.h"
#include "fixed_decoder.h"

namespace pg_conduit {

namespace {

// Applications that build SQL texts have many shapes. Past this many, all are forgotten, and
// announced again at their next use.
constexpr size_t kMaxShapes = 4096;

constexpr uint64_t kNullCell = static_cast<uint64_t>(static_cast<uint32_t>(kNullHigh)) << 32;

// Formats are 0 and 1 (PostgreSQL documentation, "Formats and Format Codes").
constexpr int kMixed = -1;

// What WriteRow() returns instead of a column.
constexpr int kWritten = -1;
constexpr int kMalformed = -2;

// Reads the fields of a DataRow message (PostgreSQL documentation, "Message Formats").
class RowReader {
 public:
  explicit RowReader(std::string_view body) : at_(body.data()), left_(body.size()) {}

  bool ReadCount(size_t* count) {
    if (left_ < 2) return false;
    *count = ReadBigEndian16(at_);
    Skip(2);
    return true;
  }

  // Below 0 for NULL, as in libpq.
  bool ReadField(int32_t* length, std::string_view* value) {
    if (left_ < 4) return false;
    *length = static_cast<int32_t>(ReadBigEndian32(at_));
    Skip(4);
    if (*length < 0) return true;
    const auto size = static_cast<size_t>(*length);
    if (size > left_) return false;
    *value = std::string_view(at_, size);
    Skip(size);
    return true;
  }

  bool at_end() const { return left_ == 0; }

 private:
  void Skip(size_t count) {
    at_ += count;
    left_ -= count;
  }

  const char* at_;
  size_t left_;
};

// Message Formats: the type, the length without the type, and, of a DataRow, the number of values.
constexpr char kDataRow = 'D';
constexpr size_t kLengthSize = 4;
constexpr size_t kMessageHeaderSize = 1 + kLengthSize;
constexpr size_t kRowHeaderSize = kMessageHeaderSize + 2;

// The bytes of the DataRow message that begins there, the header included; 0 if there is none, or
// not all of it.
size_t WholeRow(std::string_view messages) {
  if (messages.size() < kRowHeaderSize || messages[0] != kDataRow) return 0;
  const size_t length = ReadBigEndian32(messages.data() + 1);
  return length >= kLengthSize && length < messages.size() ? 1 + length : 0;
}

// How many DataRow messages of `size` bytes follow each other.
size_t CountRows(std::string_view messages, size_t size) {
  const size_t possible = messages.size() / size;
  size_t count = 0;
  for (const char* at = messages.data(); count < possible; ++count, at += size) {
    if (at[0] != kDataRow || ReadBigEndian32(at + 1) != size - 1) break;
  }
  return count;
}

// A DataRow message that has the size of one with a value in each column. False if it has not.
bool DecodeFixedRow(const std::vector<ColumnPlan>& columns, const char* at, uint64_t* cell) {
  if (ReadBigEndian16(at + kMessageHeaderSize) != columns.size()) return false;
  at += kRowHeaderSize;
  for (const ColumnPlan& plan : columns) {
    if (ReadBigEndian32(at) != plan.size) return false;
    DecodeFixed(plan.codec, at + kLengthSize, cell);
    at += kLengthSize + plan.size;
    cell += plan.cells;
  }
  return true;
}

size_t FixedMessageSize(const std::vector<ColumnPlan>& columns) {
  if (columns.empty()) return 0;
  size_t size = kRowHeaderSize;
  for (const ColumnPlan& plan : columns) {
    if (plan.size == 0) return 0;
    size += kLengthSize + plan.size;
  }
  return size;
}

void PutNull(const ColumnPlan& plan, uint64_t* cell) {
  cell[0] = kNullCell;
  // No byte of an earlier row is left there.
  if (plan.cells > 1) cell[1] = 0;
}

void AppendInt(std::string* key, int32_t value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

void RowWriter::Write(const PGresult* result, int32_t slot, uint32_t flags) {
  const ShapePtr found = FindShape(result, flags);
  const Shape& shape = *found;
  delivery_->BeginResult();
  const int rows = PQntuples(result);
  int segment_start = 0;
  size_t first_cell = delivery_->cell_count();
  has_nulls_ = false;
  // A segment of rows never spans two chunks.
  const auto begin_chunk = [&](int row) {
    if (row > segment_start) {
      delivery_->Push(Event::kRows, slot, shape.id, row - segment_start, first_cell, has_nulls_);
    }
    has_nulls_ = false;
    delivery_->NextChunk();
    segment_start = row;
    first_cell = delivery_->cell_count();
  };
  for (int row = 0; row < rows; ++row) {
    if (delivery_->ChunkIsFull()) begin_chunk(row);
    const bool was_empty = delivery_->ChunkIsEmpty();
    int unreadable = WriteRow(result, row, shape);
    if (unreadable != kWritten && !was_empty) {
      // The chunk may have had no room left for the row.
      begin_chunk(row);
      unreadable = WriteRow(result, row, shape);
    }
    if (unreadable != kWritten) {
      // The shape is needed all the same: it names the column.
      delivery_->Push(Event::kRows, slot, shape.id, row - segment_start, first_cell, has_nulls_);
      delivery_->Push(Event::kUnreadable, slot, unreadable);
      return;
    }
  }
  delivery_->Push(Event::kRows, slot, shape.id, rows - segment_start, first_cell, has_nulls_);
}

int RowWriter::WriteRow(const PGresult* result, int row, const Shape& shape) {
  uint64_t* cell = delivery_->AddCells(shape.cells_per_row);
  const auto columns = static_cast<int>(shape.columns.size());
  for (int column = 0; column < columns; ++column) {
    const ColumnPlan& plan = shape.columns[static_cast<size_t>(column)];
    const auto length = static_cast<size_t>(PQgetlength(result, row, column));
    // libpq checks its arguments in each call; the length of NULL is 0.
    if (length == 0 && PQgetisnull(result, row, column) != 0) {
      PutNull(plan, cell);
      has_nulls_ = true;
    } else {
      const std::string_view value(PQgetvalue(result, row, column), length);
      if (!DecodeField(plan, value, delivery_, cell)) {
        delivery_->DropCells(shape.cells_per_row);
        return column;
      }
    }
    cell += plan.cells;
  }
  return kWritten;
}

void RowWriter::WriteNone(const ShapePtr& known, int32_t slot) {
  const ShapePtr shape = Renew(known);
  delivery_->BeginResult();
  delivery_->Push(Event::kRows, slot, shape->id, 0, delivery_->cell_count(), false);
}

size_t RowWriter::Receive(Receiving* receiving, const ShapePtr& known, const PGresult* result,
                          std::string_view messages, int32_t slot, uint32_t flags) {
  const bool is_alone = delivery_->empty() || delivery_->IsHeldBack();
  if (receiving->shape_ == nullptr || IsForgotten(*receiving->shape_)) {
    receiving->shape_ = known != nullptr ? Renew(known) : FindShape(result, flags);
  }
  const Shape& shape = *receiving->shape_;
  size_t taken = 0;
  while (const size_t size = WholeRow(messages.substr(taken))) {
    const std::string_view body = messages.substr(taken, size).substr(kMessageHeaderSize);
    if (size == shape.message_size && !receiving->is_unreadable_) {
      const size_t fixed = ReceiveFixed(shape, messages.substr(taken), slot);
      taken += fixed;
      if (fixed > 0) continue;
    }
    if (!ReceiveRow(receiving, shape, body, slot)) break;
    taken += size;
  }
  const bool may_wait = (flags & kFlagWhole) != 0 && shape.message_size != 0;
  if (is_alone && may_wait && !receiving->is_unreadable_) delivery_->HoldBack();
  return taken;
}

size_t RowWriter::ReceiveFixed(const Shape& shape, std::string_view messages, int32_t slot) {
  const size_t size = shape.message_size;
  const size_t possible = CountRows(messages, size);
  const size_t first_cell = delivery_->cell_count();
  uint64_t* cell = delivery_->AddCells(possible * shape.cells_per_row);
  size_t count = 0;
  while (count < possible && DecodeFixedRow(shape.columns, messages.data() + count * size, cell)) {
    ++count;
    cell += shape.cells_per_row;
  }
  delivery_->DropCells((possible - count) * shape.cells_per_row);
  if (count == 0) return 0;
  if (!delivery_->AtRows(slot, shape.id)) delivery_->BeginResult();
  delivery_->PushRows(slot, shape.id, count, first_cell, false);
  return count * size;
}

bool RowWriter::ReceiveRow(Receiving* receiving, const Shape& shape, std::string_view body,
                           int32_t slot) {
  if (receiving->is_unreadable_) return true;
  has_nulls_ = false;
  if (delivery_->ChunkIsFull()) delivery_->NextChunk();
  if (!delivery_->AtRows(slot, shape.id)) delivery_->BeginResult();
  const bool was_empty = delivery_->ChunkIsEmpty();
  size_t first_cell = delivery_->cell_count();
  int unreadable = WriteRow(body, shape);
  if (unreadable >= 0 && !was_empty) {
    // The chunk may have had no room left for the row.
    delivery_->NextChunk();
    unreadable = WriteRow(body, shape);
  }
  if (unreadable == kMalformed) return false;
  if (unreadable == kWritten) {
    delivery_->PushRows(slot, shape.id, 1, first_cell, has_nulls_);
    return true;
  }
  receiving->is_unreadable_ = true;
  // The shape is needed all the same: it names the column.
  delivery_->Push(Event::kRows, slot, shape.id, 0, first_cell, false);
  delivery_->Push(Event::kUnreadable, slot, unreadable);
  return true;
}

int RowWriter::WriteRow(std::string_view body, const Shape& shape) {
  RowReader reader(body);
  size_t count = 0;
  if (!reader.ReadCount(&count) || count != shape.columns.size()) return kMalformed;
  uint64_t* cell = delivery_->AddCells(shape.cells_per_row);
  const auto fail = [&](int how) {
    delivery_->DropCells(shape.cells_per_row);
    return how;
  };
  int unreadable = kWritten;
  for (size_t column = 0; column < count; ++column) {
    const ColumnPlan& plan = shape.columns[column];
    int32_t length = 0;
    std::string_view value;
    if (!reader.ReadField(&length, &value)) return fail(kMalformed);
    if (length < 0) {
      PutNull(plan, cell);
      has_nulls_ = true;
    } else if (unreadable == kWritten && !DecodeField(plan, value, delivery_, cell)) {
      unreadable = static_cast<int>(column);
    }
    cell += plan.cells;
  }
  // If the message is wrong, its values are not to blame.
  if (!reader.at_end()) return fail(kMalformed);
  return unreadable == kWritten ? kWritten : fail(unreadable);
}

RowWriter::ShapePtr RowWriter::Find(int32_t id, uint32_t flags) const {
  // In 64 bits: an id below the first one becomes too large.
  const auto index = static_cast<uint64_t>(int64_t{id} - first_shape_id_);
  if (index >= shapes_by_id_.size()) return nullptr;
  const ShapePtr& shape = shapes_by_id_[index];
  const int format = (flags & kFlagBinary) != 0 ? 1 : 0;
  const bool is_alike = shape->flags == (flags & kFlagDecodeMask) && shape->format == format;
  return is_alike ? shape : nullptr;
}

const RowWriter::ShapePtr& RowWriter::FindShape(const PGresult* result, uint32_t flags) {
  flags &= kFlagDecodeMask;
  const int columns = PQnfields(result);
  key_.clear();
  AppendInt(&key_, static_cast<int32_t>(flags));
  for (int column = 0; column < columns; ++column) {
    key_.append(PQfname(result, column));
    key_.push_back('\0');
    AppendInt(&key_, static_cast<int32_t>(PQftable(result, column)));
    AppendInt(&key_, PQftablecol(result, column));
    AppendInt(&key_, static_cast<int32_t>(PQftype(result, column)));
    AppendInt(&key_, PQfsize(result, column));
    AppendInt(&key_, PQfmod(result, column));
    AppendInt(&key_, PQfformat(result, column));
  }
  const auto known = shapes_.find(key_);
  if (known != shapes_.end()) return known->second;

  Shape shape{0, flags, kMixed, key_, 0, {}, {}, 0};
  if (columns > 0) shape.format = PQfformat(result, 0);
  shape.described.reserve(static_cast<size_t>(columns));
  shape.columns.reserve(static_cast<size_t>(columns));
  for (int column = 0; column < columns; ++column) {
    shape.described.push_back({PQfname(result, column), PQftable(result, column),
                               PQftablecol(result, column), PQftype(result, column),
                               PQfsize(result, column), PQfmod(result, column),
                               PQfformat(result, column)});
    shape.columns.push_back(PlanColumn(PQftype(result, column), PQfformat(result, column), flags));
    shape.cells_per_row += static_cast<size_t>(shape.columns.back().cells);
    if (PQfformat(result, column) != shape.format) shape.format = kMixed;
  }
  shape.message_size = FixedMessageSize(shape.columns);
  return Add(std::move(shape));
}

RowWriter::ShapePtr RowWriter::Renew(const ShapePtr& shape) {
  if (!IsForgotten(*shape)) return shape;
  const auto known = shapes_.find(shape->key);
  return known != shapes_.end() ? known->second : Add(*shape);
}

const RowWriter::ShapePtr& RowWriter::Add(Shape shape) {
  if (shapes_.size() >= kMaxShapes) {
    first_shape_id_ += static_cast<int32_t>(shapes_by_id_.size());
    shapes_.clear();
    shapes_by_id_.clear();
    delivery_->Push(Event::kShapesCleared);
  }
  shape.id = first_shape_id_ + static_cast<int32_t>(shapes_by_id_.size());
  const ShapePtr& added = shapes_by_id_.emplace_back(std::make_shared<Shape>(std::move(shape)));
  shapes_.emplace(added->key, added);
  Announce(*added);
  return added;
}

void RowWriter::Announce(const Shape& shape) {
  delivery_->PushWithText(Event::kShape, shape.id, static_cast<int32_t>(shape.described.size()));
  for (size_t index = 0; index < shape.described.size(); ++index) {
    const Column& column = shape.described[index];
    const auto kind = static_cast<int32_t>(shape.columns[index].kind);
    delivery_->PushText(column.name);
    delivery_->PushInt(static_cast<int32_t>(column.table));
    delivery_->PushInt(column.table_column);
    delivery_->PushInt(static_cast<int32_t>(column.type));
    delivery_->PushInt(column.size);
    delivery_->PushInt(column.modifier);
    delivery_->PushInt(column.format);
    delivery_->PushInt(kind | (IsBinaryDecodable(column.type) ? kFieldBinaryDecodable : 0));
  }
}

}  // namespace pg_conduit
