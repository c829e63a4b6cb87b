// From libpq to the Delivery: writes rows, of a result or each as it is received, and announces
// their shape (names, types, kinds of cells) to JavaScript the first time that it is seen. One for
// each environment; called by Pipeline.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "delivery.h"
#include "field_decoder.h"

namespace pg_conduit {

class RowWriter {
  struct Shape {
    int32_t id;
    size_t cells_per_row;
    std::vector<ColumnPlan> columns;
    // Bytes of each DataRow message without a NULL; 0 if they differ.
    size_t message_size;
  };

 public:
  // What is known of a result whose rows are received one by one.
  class Receiving {
   public:
    // Whether the shape was written, so that JavaScript has the fields.
    bool has_begun() const { return shape_ != nullptr; }

   private:
    friend RowWriter;
    const Shape* shape_ = nullptr;  // of the RowWriter, until it forgets its shapes
    uint32_t age_ = 0;
    bool is_unreadable_ = false;  // what follows is not read
  };

  explicit RowWriter(Delivery* delivery) : delivery_(delivery) {}
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // `flags`: ExecuteFlags. Writes kRows events, even for no rows (the result's fields are
  // needed then, too), and kUnreadable behind the last row that could be read.
  void Write(const PGresult* result, int32_t slot, uint32_t flags);

  // Writes rows of a result: DataRow messages, up to the first other or incomplete one. The same
  // events as Write(), but none for no rows. Returns the bytes that it has read, none of a message
  // that is not a row of this result.
  size_t Receive(Receiving* receiving, const PGresult* result, std::string_view messages,
                 int32_t slot, uint32_t flags);

 private:
  // Rows of Shape::message_size bytes, up to the first other one. Returns the bytes.
  size_t ReceiveFixed(const Shape& shape, std::string_view messages, int32_t slot);
  // The body of a message. False, and nothing written, if it is not a row of this result.
  bool ReceiveRow(Receiving* receiving, const Shape& shape, std::string_view body, int32_t slot);
  const Shape& FindShape(const PGresult* result, uint32_t flags);
  void Announce(const Shape& shape, const PGresult* result);
  // The index of the first column that could not be written, kWritten or kMalformed. Sets
  // has_nulls_ at a NULL.
  int WriteRow(const PGresult* result, int row, const Shape& shape);
  int WriteRow(std::string_view body, const Shape& shape);

  Delivery* delivery_;
  std::unordered_map<std::string, Shape> shapes_;
  std::string key_;         // scratch of FindShape
  bool has_nulls_ = false;  // of what WriteRow() has written
  int32_t next_shape_id_ = 0;
  uint32_t age_ = 0;  // how often the shapes were forgotten
};

}  // namespace pg_conduit
