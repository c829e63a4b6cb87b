// Fuzz target: src/row_writer.cc and delivery.cc. Results of any shape, many in
// one delivery, with values of all lengths about the limits of a chunk, whole or as
// messages that arrive in parts, are read back as lib/native/delivery.js does it: each
// row must be where its event says, with the values that went in; of a shape that is known
// the result has no columns. At last any bytes are taken for messages. Built and run by
// scripts/fuzz.js, with a system libpq for its PGresult.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../../src/libpq_ptr.h"
#include "../../src/row_writer.h"
#include "check.h"

using namespace pg_conduit;

namespace {

constexpr Oid kInt4 = 23;
constexpr Oid kText = 25;
constexpr Oid kJson = 114;
constexpr Oid kBytea = 17;
constexpr Oid kPoint = 600;
constexpr Oid kTypes[] = {kInt4, kText, kJson, kBytea, kPoint};

constexpr int kLengths[] = {0,    1,    2,    7,    8,    9,    12,   13,   100,
                            1000, 4095, 4096, 8190, 8191, 8192, 8193, 8194, 20000};

struct Column {
  std::string name;
  Oid type;
  bool is_binary;  // of kInt4

  bool operator==(const Column& other) const {
    return name == other.name && type == other.type && is_binary == other.is_binary;
  }
};

struct Field {
  bool is_null = false;
  std::string sent;
  std::u16string text;  // as JavaScript should see it
};

using Rows = std::vector<std::vector<Field>>;

struct Expected {
  std::vector<Column> columns;
  std::vector<std::vector<Field>> rows;
  int unreadable = -1;  // column of the row behind these
};

std::u16string Widen(const std::string& ascii) { return {ascii.begin(), ascii.end()}; }

// So long, without giving the fuzzer so many bytes to guess.
std::string Stretch(const std::string& seed, size_t length) {
  std::string text;
  while (!seed.empty() && text.size() < length) text += seed;
  text.resize(seed.empty() ? 0 : length);
  return text;
}

std::string BigEndian(uint32_t value, int bytes) {
  std::string text;
  while (bytes-- > 0) text.push_back(static_cast<char>(value >> (8 * bytes)));
  return text;
}

std::string DataRow(const std::vector<Field>& row) {
  std::string body = BigEndian(static_cast<uint32_t>(row.size()), 2);
  for (const Field& field : row) {
    const auto size = static_cast<uint32_t>(field.sent.size());
    body += BigEndian(field.is_null ? UINT32_MAX : size, 4) + field.sent;
  }
  return "D" + BigEndian(static_cast<uint32_t>(body.size() + 4), 4) + body;
}

Field MakeField(const Column& column, FuzzedDataProvider* data) {
  const Oid type = column.type;
  Field field;
  if (data->ConsumeIntegralInRange(0, 7) == 0) {
    field.is_null = true;
    return field;
  }
  if (type == kInt4) {
    const auto value = data->ConsumeIntegral<int32_t>();
    field.sent = std::to_string(value);
    field.text = Widen(field.sent);
    if (column.is_binary) field.sent = BigEndian(static_cast<uint32_t>(value), 4);
    return field;
  }
  const auto length = static_cast<size_t>(data->PickValueInArray(kLengths));
  const std::string raw = Stretch(data->ConsumeRandomLengthString(9), length);
  if (type == kBytea) {
    static constexpr char kHex[] = "0123456789abcdef";
    field.sent = "\\x";
    for (const char c : raw) {
      const auto byte = static_cast<unsigned char>(c);
      field.sent.push_back(kHex[byte >> 4]);
      field.sent.push_back(kHex[byte & 15]);
      field.text.push_back(byte);
    }
    return field;
  }
  field.sent = raw;
  field.text = fuzz::ToUtf16(raw);
  return field;
}

// The rows are in the result, or in `apart`, where that is not null.
ResultPtr MakeResult(FuzzedDataProvider* data, const std::vector<Column>& columns,
                     Expected* expected, Rows* apart) {
  ResultPtr result(PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK));
  std::vector<PGresAttDesc> attributes(columns.size());
  for (size_t index = 0; index < columns.size(); ++index) {
    attributes[index].name = const_cast<char*>(columns[index].name.c_str());
    attributes[index].typid = columns[index].type;
    attributes[index].typlen = static_cast<int>(index);
    attributes[index].format = columns[index].is_binary ? 1 : 0;
  }
  CHECK(PQsetResultAttrs(result.get(), static_cast<int>(columns.size()), attributes.data()) != 0);
  expected->columns = columns;
  const int rows = data->ConsumeIntegralInRange(0, 12);
  for (int row = 0; row < rows && !columns.empty(); ++row) {
    std::vector<Field> fields;
    int unreadable = -1;
    for (size_t column = 0; column < columns.size(); ++column) {
      Field field = MakeField(columns[column], data);
      if (columns[column].type == kInt4 && data->ConsumeIntegralInRange(0, 63) == 63) {
        field.is_null = false;
        field.sent = "1x";
        if (unreadable < 0) unreadable = static_cast<int>(column);
      }
      CHECK(apart != nullptr ||
            PQsetvalue(result.get(), row, static_cast<int>(column),
                       field.is_null ? nullptr : field.sent.data(),
                       field.is_null ? -1 : static_cast<int>(field.sent.size())) != 0);
      fields.push_back(std::move(field));
    }
    if (apart != nullptr) apart->push_back(fields);
    if (expected->unreadable >= 0) continue;
    expected->unreadable = unreadable;
    if (unreadable < 0) expected->rows.push_back(std::move(fields));
  }
  return result;
}

using Shapes = std::map<int32_t, std::vector<Column>>;

// The shape of an earlier delivery that has these columns, or null.
RowWriter::ShapePtr FindKnown(const RowWriter& writer, const Shapes& announced,
                              const std::vector<Column>& columns) {
  for (const auto& [id, described] : announced) {
    if (described != columns || columns.empty()) continue;
    return writer.Find(id, columns[0].is_binary ? kFlagBinary : 0);
  }
  return nullptr;
}

// As libpq does it: the first message is whole, and the last may not be. `known`: null, or the
// shape of the rows, which `described` does not tell then.
void ReceiveRows(FuzzedDataProvider* data, RowWriter* writer, const Delivery& delivery,
                 const RowWriter::ShapePtr& known, const PGresult* described, const Rows& rows,
                 int32_t slot) {
  const ResultPtr without(PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK));
  const PGresult* result = known != nullptr ? without.get() : described;
  const uint32_t flags = data->ConsumeBool() ? kFlagWhole : 0;
  std::string messages;
  std::vector<size_t> ends;
  for (const std::vector<Field>& row : rows) {
    messages += DataRow(row);
    ends.push_back(messages.size());
  }
  messages += "C" + BigEndian(4, 4);
  RowWriter::Receiving receiving;
  size_t at = 0;
  for (size_t row = 0; row < rows.size();) {
    const size_t arrived = data->ConsumeIntegralInRange(ends[row], messages.size());
    while (row < rows.size() && ends[row] <= arrived) ++row;
    const std::string_view there = std::string_view(messages).substr(at, arrived - at);
    const bool was_empty = delivery.empty() || delivery.IsHeldBack();
    at += writer->Receive(&receiving, known, result, there, slot, flags);
    CHECK(at == ends[row - 1]);
    if (delivery.IsHeldBack()) CHECK(was_empty && flags == kFlagWhole);
  }
  if (receiving.has_begun()) return;
  if (known != nullptr) {
    writer->WriteNone(known, slot);
  } else {
    writer->Write(result, slot, flags);
  }
}

// lib/native/delivery.js, with the checks that it does without.
class Reader {
 public:
  Reader(const Delivery& delivery, Shapes* shapes)
      : delivery_(delivery), ints_(delivery.events()), shapes_(*shapes) {}

  void Read(const std::vector<Expected>& results) {
    std::vector<size_t> rows(results.size(), 0);
    std::vector<bool> is_unreadable(results.size(), false);
    std::vector<bool> has_rows(results.size(), false);
    while (at_ < ints_.size()) {
      switch (static_cast<Event>(Next())) {
        case Event::kChunk:
          CHECK(static_cast<size_t>(Next()) == ++chunk_);
          CHECK(chunk_ < delivery_.chunk_count());
          break;
        case Event::kShape:
          ReadShape();
          break;
        case Event::kRows: {
          const auto slot = static_cast<size_t>(Next());
          const std::vector<Column>& columns = shapes_.at(Next());
          CHECK(columns.size() == results[slot].columns.size());
          for (size_t index = 0; index < columns.size(); ++index) {
            CHECK(columns[index].name == results[slot].columns[index].name);
          }
          has_rows[slot] = true;
          ReadRows(results[slot], columns, &rows[slot]);
          break;
        }
        case Event::kUnreadable: {
          const auto slot = static_cast<size_t>(Next());
          CHECK(Next() == results[slot].unreadable && has_rows[slot]);
          is_unreadable[slot] = true;
          break;
        }
        default:
          CHECK(false);
      }
    }
    for (size_t slot = 0; slot < results.size(); ++slot) {
      CHECK(has_rows[slot] && rows[slot] == results[slot].rows.size());
      CHECK(is_unreadable[slot] == (results[slot].unreadable >= 0));
    }
  }

 private:
  int32_t Next() {
    CHECK(at_ < ints_.size());
    return ints_[at_++];
  }

  std::u16string Text(int32_t offset, int32_t length) {
    const TextChunk& chunk = delivery_.chunk(chunk_);
    const auto size = static_cast<size_t>(length);
    if (offset >= 0) {
      CHECK(static_cast<size_t>(offset) + size <= chunk.ascii.size());
      return Widen(chunk.ascii.substr(static_cast<size_t>(offset), size));
    }
    CHECK(static_cast<size_t>(~offset) + size <= chunk.wide.size());
    return chunk.wide.substr(static_cast<size_t>(~offset), size);
  }

  void ReadShape() {
    std::vector<Column>& columns = shapes_[Next()];
    columns.clear();
    for (int32_t left = Next(); left > 0; --left) {
      const int32_t offset = Next();
      const std::u16string name = Text(offset, Next());
      Next();  // table
      Next();  // column
      const auto type = static_cast<Oid>(Next());
      Next();  // size
      Next();  // modifier
      const bool is_binary = Next() != 0;
      Next();  // kind
      columns.push_back({std::string(name.begin(), name.end()), type, is_binary});
    }
  }

  void ReadRows(const Expected& expected, const std::vector<Column>& columns, size_t* row) {
    const int32_t count = Next();
    auto cell = static_cast<size_t>(Next());
    const bool may_have_nulls = Next() != 0;
    for (int32_t n = 0; n < count; ++n, ++*row) {
      CHECK(*row < expected.rows.size());
      for (size_t index = 0; index < columns.size(); ++index) {
        const Field& field = expected.rows[*row][index];
        const size_t cells = columns[index].type == kJson ? 2 : 1;
        CHECK(cell + cells <= delivery_.cells().size());
        CheckCell(columns[index].type, &delivery_.cells()[cell], field);
        CHECK(may_have_nulls || !field.is_null);
        cell += cells;
      }
    }
  }

  void CheckCell(Oid type, const uint64_t* cell, const Field& field) {
    int32_t pair[4];
    std::memcpy(pair, cell, (type == kJson ? 2 : 1) * sizeof(*cell));
    CHECK(field.is_null == (pair[1] == kNullHigh));
    if (field.is_null) return;
    const TextChunk& chunk = delivery_.chunk(chunk_);
    if (type == kInt4) {
      CHECK(Widen(std::to_string(pair[0])) == field.text);
    } else if (type == kBytea) {
      const auto start = static_cast<size_t>(pair[0]);
      CHECK(start + static_cast<size_t>(pair[1]) <= chunk.bytes.size());
      std::u16string bytes;
      for (const char c : chunk.bytes.substr(start, static_cast<size_t>(pair[1]))) {
        bytes.push_back(static_cast<unsigned char>(c));
      }
      CHECK(bytes == field.text);
    } else if (type == kJson) {
      if (json_of_ != &chunk) {
        json_of_ = &chunk;
        json_ = fuzz::ToUtf16(chunk.json);
      }
      const auto start = static_cast<size_t>(pair[2]);
      CHECK(start + static_cast<size_t>(pair[3]) <= json_.size());
      CHECK(json_.substr(start, static_cast<size_t>(pair[3])) == field.text);
      CHECK(json_[start - 1] == (pair[0] == 0 ? u'[' : u','));
    } else {
      CHECK(Text(pair[0], pair[1]) == field.text);
    }
  }

  const Delivery& delivery_;
  const std::vector<int32_t>& ints_;
  size_t at_ = 0;
  size_t chunk_ = 0;
  Shapes& shapes_;
  const TextChunk* json_of_ = nullptr;
  std::u16string json_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  Delivery delivery;
  RowWriter writer(&delivery);
  std::vector<std::vector<Column>> shapes(1 + data.ConsumeIntegralInRange<size_t>(0, 2));
  for (std::vector<Column>& columns : shapes) {
    const int count = data.ConsumeIntegralInRange(0, 4);
    const bool are_numbers = data.ConsumeBool();
    for (int n = 0; n < count; ++n) {
      const Oid type = are_numbers ? kInt4 : data.PickValueInArray(kTypes);
      columns.push_back(
          {Stretch("c" + std::to_string(n), data.ConsumeIntegralInRange<size_t>(1, 63)), type,
           type == kInt4 && (are_numbers || data.ConsumeBool())});
    }
  }
  Shapes announced;
  do {
    std::vector<Expected> results;
    const size_t count = data.ConsumeIntegralInRange<size_t>(1, 8);
    while (results.size() < count) {
      Expected expected;
      const std::vector<Column>& columns = shapes[results.size() % shapes.size()];
      const auto slot = static_cast<int32_t>(results.size());
      Rows rows;
      const bool are_received = data.ConsumeBool();
      const ResultPtr result =
          MakeResult(&data, columns, &expected, are_received ? &rows : nullptr);
      if (are_received) {
        const RowWriter::ShapePtr known =
            data.ConsumeBool() ? FindKnown(writer, announced, columns) : nullptr;
        ReceiveRows(&data, &writer, delivery, known, result.get(), rows, slot);
      } else {
        writer.Write(result.get(), slot, 0);
      }
      results.push_back(std::move(expected));
    }
    delivery.FinishJson();
    Reader(delivery, &announced).Read(results);
    delivery.Clear();
    CHECK(delivery.empty() && delivery.cell_count() == 0 && delivery.chunk_count() == 0);
  } while (data.remaining_bytes() > 0);

  for (const std::vector<Column>& columns : shapes) {
    Expected none;
    Rows rows;
    FuzzedDataProvider nothing(bytes, 0);
    const ResultPtr result = MakeResult(&nothing, columns, &none, &rows);
    RowWriter::Receiving receiving;
    const std::string_view any(reinterpret_cast<const char*>(bytes), size);
    for (size_t at = 0; at < size; ++at) {
      const size_t taken = writer.Receive(&receiving, nullptr, result.get(), any.substr(at), 0, 0);
      CHECK(taken <= size - at && (taken == 0 || taken >= 7));
    }
    delivery.Clear();
  }
  return 0;
}
