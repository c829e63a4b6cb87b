// From libpq to the Delivery: writes rows, of a result or each as it is received, and announces
// their shape (names, types, kinds of cells) to JavaScript the first time that it is seen. One for
// each environment; called by Pipeline.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "delivery.h"
#include "field_decoder.h"

namespace pg_conduit {

class RowWriter {
  // A column as the server describes it (PostgreSQL documentation, "Message Formats",
  // RowDescription).
  struct Column {
    std::string name;
    Oid table;
    int table_column;
    Oid type;
    int size;
    int modifier;
    int format;
  };

  struct Shape {
    int32_t id;
    uint32_t flags;  // ExecuteFlags, of kFlagDecodeMask
    int format;      // of all columns; kMixed if they differ
    std::string key;
    size_t cells_per_row;
    std::vector<Column> described;
    std::vector<ColumnPlan> columns;
    // Bytes of each DataRow message without a NULL; 0 if they differ.
    size_t message_size;
  };

 public:
  // Of rows whose columns are known before they come.
  using ShapePtr = std::shared_ptr<const Shape>;

  // What is known of a result whose rows are received one by one.
  class Receiving {
   public:
    // Whether the shape was written, so that JavaScript has the fields.
    bool has_begun() const { return shape_ != nullptr; }

   private:
    friend RowWriter;
    ShapePtr shape_;
    bool is_unreadable_ = false;  // what follows is not read
  };

  explicit RowWriter(Delivery* delivery) : delivery_(delivery) {}
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // `flags`: ExecuteFlags. Writes kRows events, even for no rows (the result's fields are
  // needed then, too), and kUnreadable behind the last row that could be read.
  void Write(const PGresult* result, int32_t slot, uint32_t flags);

  // Writes rows of a result: DataRow messages, up to the first other or incomplete one. `known`:
  // its shape, if `result` does not describe it. The same events as Write(), but none for no rows.
  // Returns the bytes that it has read, none of a message that is not a row of this result.
  size_t Receive(Receiving* receiving, const ShapePtr& known, const PGresult* result,
                 std::string_view messages, int32_t slot, uint32_t flags);

  // Write() for a result without rows that is not described.
  void WriteNone(const ShapePtr& known, int32_t slot);

  // The shape that JavaScript knows by this id, if results that are requested with these flags have
  // it; else null.
  ShapePtr Find(int32_t id, uint32_t flags) const;

 private:
  // Rows of Shape::message_size bytes, up to the first other one. Returns the bytes.
  size_t ReceiveFixed(const Shape& shape, std::string_view messages, int32_t slot);
  // The body of a message. False, and nothing written, if it is not a row of this result.
  bool ReceiveRow(Receiving* receiving, const Shape& shape, std::string_view body, int32_t slot);
  const ShapePtr& FindShape(const PGresult* result, uint32_t flags);
  // The same shape, or one like it if JavaScript was told to forget that.
  ShapePtr Renew(const ShapePtr& shape);
  const ShapePtr& Add(Shape shape);
  bool IsForgotten(const Shape& shape) const { return shape.id < first_shape_id_; }
  void Announce(const Shape& shape);
  // The index of the first column that could not be written, kWritten or kMalformed. Sets
  // has_nulls_ at a NULL.
  int WriteRow(const PGresult* result, int row, const Shape& shape);
  int WriteRow(std::string_view body, const Shape& shape);

  Delivery* delivery_;
  std::unordered_map<std::string, ShapePtr> shapes_;
  // The same, by their ids from first_shape_id_ on: those before it are forgotten.
  std::vector<ShapePtr> shapes_by_id_;
  int32_t first_shape_id_ = 0;
  std::string key_;         // scratch of FindShape
  bool has_nulls_ = false;  // of what WriteRow() has written
};

}  // namespace pg_conduit
