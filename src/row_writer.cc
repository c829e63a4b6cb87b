// See row_writer.h.
#include "row_writer.h"

#include <string_view>
#include <utility>

namespace pg_conduit {

namespace {

// Applications that build SQL texts have many shapes. Past this many, all are forgotten, and
// announced again at their next use.
constexpr size_t kMaxShapes = 4096;

constexpr uint64_t kNullCell = static_cast<uint64_t>(static_cast<uint32_t>(kNullHigh)) << 32;

void AppendInt(std::string* key, int32_t value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

void RowWriter::Write(const PGresult* result, int32_t slot, uint32_t flags) {
  const Shape& shape = FindShape(result, flags);
  delivery_->BeginResult();
  const int rows = PQntuples(result);
  int segment_start = 0;
  size_t first_cell = delivery_->cell_count();
  // A segment of rows never spans two chunks.
  const auto begin_chunk = [&](int row) {
    if (row > segment_start) {
      delivery_->Push(Event::kRows, slot, shape.id, row - segment_start, first_cell);
    }
    delivery_->NextChunk();
    segment_start = row;
    first_cell = delivery_->cell_count();
  };
  for (int row = 0; row < rows; ++row) {
    if (delivery_->ChunkIsFull()) begin_chunk(row);
    const bool was_empty = delivery_->ChunkIsEmpty();
    int unreadable = WriteRow(result, row, shape);
    if (unreadable >= 0 && !was_empty) {
      // The chunk may have had no room left for the row.
      begin_chunk(row);
      unreadable = WriteRow(result, row, shape);
    }
    if (unreadable >= 0) {
      // The shape is needed all the same: it names the column.
      delivery_->Push(Event::kRows, slot, shape.id, row - segment_start, first_cell);
      delivery_->Push(Event::kUnreadable, slot, unreadable);
      return;
    }
  }
  delivery_->Push(Event::kRows, slot, shape.id, rows - segment_start, first_cell);
}

int RowWriter::WriteRow(const PGresult* result, int row, const Shape& shape) {
  uint64_t* cell = delivery_->AddCells(shape.cells_per_row);
  const auto columns = static_cast<int>(shape.columns.size());
  for (int column = 0; column < columns; ++column) {
    const ColumnPlan& plan = shape.columns[static_cast<size_t>(column)];
    const auto length = static_cast<size_t>(PQgetlength(result, row, column));
    // libpq checks its arguments in each call; the length of NULL is 0.
    if (length == 0 && PQgetisnull(result, row, column) != 0) {
      *cell = kNullCell;
    } else {
      const std::string_view value(PQgetvalue(result, row, column), length);
      if (!DecodeField(plan, value, delivery_, cell)) {
        delivery_->DropCells(shape.cells_per_row);
        return column;
      }
    }
    cell += plan.cells;
  }
  return -1;
}

const RowWriter::Shape& RowWriter::FindShape(const PGresult* result, uint32_t flags) {
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

  if (shapes_.size() >= kMaxShapes) {
    shapes_.clear();
    delivery_->Push(Event::kShapesCleared);
  }
  Shape shape{next_shape_id_++, 0, {}};
  shape.columns.reserve(static_cast<size_t>(columns));
  for (int column = 0; column < columns; ++column) {
    shape.columns.push_back(PlanColumn(PQftype(result, column), PQfformat(result, column), flags));
    shape.cells_per_row += static_cast<size_t>(shape.columns.back().cells);
  }
  const Shape& added = shapes_.emplace(key_, std::move(shape)).first->second;
  Announce(added, result);
  return added;
}

void RowWriter::Announce(const Shape& shape, const PGresult* result) {
  const int columns = PQnfields(result);
  delivery_->PushWithText(Event::kShape, shape.id, columns);
  for (int column = 0; column < columns; ++column) {
    const Oid type = PQftype(result, column);
    const auto kind = static_cast<int32_t>(shape.columns[static_cast<size_t>(column)].kind);
    delivery_->PushText(PQfname(result, column));
    delivery_->PushInt(static_cast<int32_t>(PQftable(result, column)));
    delivery_->PushInt(PQftablecol(result, column));
    delivery_->PushInt(static_cast<int32_t>(type));
    delivery_->PushInt(PQfsize(result, column));
    delivery_->PushInt(PQfmod(result, column));
    delivery_->PushInt(PQfformat(result, column));
    delivery_->PushInt(kind | (IsBinaryDecodable(type) ? kFieldBinaryDecodable : 0));
  }
}

}  // namespace pg_conduit
