// From PGresult to the Delivery: writes the rows of a result, and announces the shape of its rows
// (names, types, kinds of cells) to JavaScript the first time that it is seen. One for each
// environment; called by Pipeline.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "delivery.h"
#include "field_decoder.h"

namespace pg_conduit {

class RowWriter {
 public:
  explicit RowWriter(Delivery* delivery) : delivery_(delivery) {}
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // `flags`: kFlagDecodeMask bits. Writes kRows events, even for no rows (the result's fields are
  // needed then, too), and kUnreadable behind the last row that could be read.
  void Write(const PGresult* result, int32_t slot, uint32_t flags);

 private:
  struct Shape {
    int32_t id;
    size_t cells_per_row;
    std::vector<ColumnPlan> columns;
  };

  const Shape& FindShape(const PGresult* result, uint32_t flags);
  void Announce(const Shape& shape, const PGresult* result);
  // The index of the first column that could not be written, or -1.
  int WriteRow(const PGresult* result, int row, const Shape& shape);

  Delivery* delivery_;
  std::unordered_map<std::string, Shape> shapes_;
  std::string key_;  // scratch of FindShape
  int32_t next_shape_id_ = 0;
};

}  // namespace pg_conduit
