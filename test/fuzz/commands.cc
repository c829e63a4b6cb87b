// Fuzz target: src/param_reader.cc. What lib/native/tick-buffer.js could have written
// must arrive at the pipeline as it was meant; any other ints, text and bytes
// must be refused, or stay within their buffers. The pipeline is a recorder.
// Built and run by scripts/fuzz.js.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../../src/param_reader.h"
#include "check.h"

using namespace pg_conduit;

namespace {

constexpr int32_t kKnownConnection = 1;

// What has reached the pipeline, one line for each command.
std::string* record = nullptr;

void Note(const char* what, int32_t slot, const std::string& rest) {
  *record += std::string(what) + " " + std::to_string(slot) + " " + rest + "\n";
}

// With lengths, so that no content can look like something else.
std::string Quote(std::string_view text) {
  return std::to_string(text.size()) + ":" + std::string(text);
}

std::string Describe(const ParamArrays& params) {
  std::string text;
  for (int index = 0; index < params.count; ++index) {
    const char* value = params.values[index];
    if (value == nullptr) {
      text += " null";
    } else if (params.formats[index] == 1) {
      text += " b" + Quote({value, static_cast<size_t>(params.lengths[index])});
    } else {
      text += " t" + Quote(value);
    }
  }
  return text;
}

}  // namespace

namespace pg_conduit {

void Pipeline::SendQuery(int32_t slot, uint32_t flags, const char* text,
                         const ParamArrays& params) {
  Note("query", slot, std::to_string(flags) + " " + Quote(text) + Describe(params));
}
void Pipeline::SendParse(int32_t slot, int32_t statement, const char* text) {
  Note("parse", slot, std::to_string(statement) + " " + Quote(text));
}
void Pipeline::SendExecute(int32_t slot, uint32_t flags, int32_t statement, int32_t columns,
                           const ParamArrays& params) {
  Note("execute", slot,
       std::to_string(flags) + " " + std::to_string(statement) + " " + std::to_string(columns) +
           Describe(params));
}
void Pipeline::SendClose(int32_t slot, int32_t statement) {
  Note("close", slot, std::to_string(statement));
}
void Pipeline::SendSync(int32_t slot) { Note("sync", slot, ""); }

}  // namespace pg_conduit

namespace {

class Recorder : public ParamReader::Pipelines {
 public:
  Pipeline* FindPipeline(int32_t connection) override {
    // The recorder's methods look at nothing of it.
    alignas(Pipeline) static char pipeline[sizeof(Pipeline)];
    return connection == kKnownConnection ? reinterpret_cast<Pipeline*>(pipeline) : nullptr;
  }
  void NotSent(int32_t slot, NotSentReason reason, int32_t detail) override {
    Note("not sent", slot, std::to_string(static_cast<int>(reason)) + " " + std::to_string(detail));
  }
};

// Copied to memory of just that size, so that the sanitizer sees its end.
template <typename Item>
std::unique_ptr<Item[]> Exactly(const Item* items, size_t count) {
  std::unique_ptr<Item[]> copy(new Item[count]);
  if (count > 0) std::memcpy(copy.get(), items, count * sizeof(Item));
  return copy;
}

struct Tick {
  std::vector<int32_t> ints;
  std::u16string text;
  std::string bytes;
};

// As V8 writes a string: half a surrogate pair becomes U+FFFD.
std::string ToUtf8(const std::u16string& units) {
  std::string utf8;
  for (size_t at = 0; at < units.size(); ++at) {
    uint32_t point = units[at];
    if (point >= 0xD800 && point < 0xE000) {
      const bool is_pair = point < 0xDC00 && at + 1 < units.size() && units[at + 1] >= 0xDC00 &&
                           units[at + 1] < 0xE000;
      point = is_pair ? 0x10000 + (point - 0xD800) * 0x400 + (units[++at] - 0xDC00) : 0xFFFD;
    }
    if (point < 0x80) {
      utf8.push_back(static_cast<char>(point));
    } else if (point < 0x800) {
      utf8.push_back(static_cast<char>(0xC0 | point >> 6));
      utf8.push_back(static_cast<char>(0x80 | (point & 0x3F)));
    } else {
      if (point < 0x10000) {
        utf8.push_back(static_cast<char>(0xE0 | point >> 12));
      } else {
        utf8.push_back(static_cast<char>(0xF0 | point >> 18));
        utf8.push_back(static_cast<char>(0x80 | (point >> 12 & 0x3F)));
      }
      utf8.push_back(static_cast<char>(0x80 | (point >> 6 & 0x3F)));
      utf8.push_back(static_cast<char>(0x80 | (point & 0x3F)));
    }
  }
  return utf8;
}

bool Run(ParamReader* reader, const Tick& tick, const std::string& utf8, size_t units) {
  const auto ints = Exactly(tick.ints.data(), tick.ints.size());
  const auto text = Exactly(utf8.data(), utf8.size());
  const auto bytes = Exactly(tick.bytes.data(), tick.bytes.size());
  return reader->Read(ints.get(), tick.ints.size(), {text.get(), utf8.size()}, units,
                      {bytes.get(), tick.bytes.size()});
}

class Writer {
 public:
  explicit Writer(FuzzedDataProvider* data) : data_(data) {}

  void Write() {
    while (data_->remaining_bytes() > 0 && tick.ints.size() < 4000) WriteCommand();
  }

  Tick tick;
  std::string expected;

 private:
  // The next text as UTF-8; what the server would cut at a NUL is never sent.
  std::string PutText() {
    std::u16string units;
    const int count = data_->ConsumeIntegralInRange(0, 12);
    const bool is_ascii = data_->ConsumeBool();
    for (int n = 0; n < count; ++n) {
      units.push_back(is_ascii ? static_cast<char16_t>(data_->ConsumeIntegralInRange(0, 127))
                               : data_->ConsumeIntegral<char16_t>());
    }
    units_ = static_cast<int32_t>(units.size());
    tick.text += units;
    tick.text.push_back(u'\0');
    return ToUtf8(units);
  }

  // What Describe() makes of them; `nul` is the first one that has a NUL.
  std::string PutParams(int count, int* nul) {
    std::string described;
    *nul = -1;
    for (int index = 0; index < count; ++index) {
      switch (data_->ConsumeIntegralInRange(0, 3)) {
        case 0:
          PutInts({static_cast<int32_t>(ParamKind::kNull), 0});
          described += " null";
          break;
        case 1: {
          const std::string text = PutText();
          PutInts({static_cast<int32_t>(ParamKind::kText), units_});
          if (text.find('\0') != std::string::npos && *nul < 0) *nul = index;
          described += " t" + Quote(text);
          break;
        }
        case 2: {
          const auto value = data_->ConsumeIntegral<int32_t>();
          PutInts({static_cast<int32_t>(ParamKind::kInt32), value});
          described += " t" + Quote(std::to_string(value));
          break;
        }
        default: {
          const std::string value = data_->ConsumeRandomLengthString(20);
          tick.bytes += value;
          PutInts({static_cast<int32_t>(ParamKind::kBytes), static_cast<int32_t>(value.size())});
          described += " b" + Quote(value);
        }
      }
    }
    return described;
  }

  void PutInts(std::initializer_list<int32_t> ints) { tick.ints.insert(tick.ints.end(), ints); }

  void Expect(const char* what, int32_t slot, const std::string& rest) {
    expected += std::string(what) + " " + std::to_string(slot) + " " + rest + "\n";
  }

  void ExpectNotSent(int32_t slot, NotSentReason reason, int detail) {
    Expect("not sent", slot,
           std::to_string(static_cast<int>(reason)) + " " + std::to_string(detail));
  }

  void WriteCommand() {
    const auto command = static_cast<Command>(data_->ConsumeIntegralInRange(1, 6));
    const int32_t connection = data_->ConsumeIntegralInRange(0, 3) == 0 ? 7 : kKnownConnection;
    const int32_t slot = data_->ConsumeIntegralInRange(0, 3);
    PutInts({static_cast<int32_t>(command), connection, slot});
    const bool is_known = connection == kKnownConnection;
    const int32_t number = data_->ConsumeIntegralInRange(0, 1000);
    std::string text;
    int nul = -1;
    switch (command) {
      case Command::kQuery:
      case Command::kExecute: {
        const bool is_query = command == Command::kQuery;
        const int count = data_->ConsumeIntegralInRange(0, 5);
        const size_t at = tick.ints.size();
        if (is_query) {
          PutInts({number, 0, count});
          text = PutText();
          tick.ints[at + 1] = units_;
        } else {
          PutInts({number, number + 1, number - 3, count});
        }
        const std::string params = PutParams(count, &nul);
        if (text.find('\0') != std::string::npos) {
          nul = -1;
        } else if (nul < 0) {
          nul = -2;
        }
        if (!is_known) {
          ExpectNotSent(slot, NotSentReason::kConnectionGone, 0);
        } else if (slot == unparsed_) {
          // Its Parse has been refused already.
        } else if (nul != -2) {
          ExpectNotSent(slot, NotSentReason::kNulByte, nul);
        } else if (is_query) {
          Expect("query", slot, std::to_string(number) + " " + Quote(text) + params);
        } else {
          Expect("execute", slot,
                 std::to_string(number) + " " + std::to_string(number + 1) + " " +
                     std::to_string(number - 3) + params);
        }
        break;
      }
      case Command::kParse:
        text = PutText();
        PutInts({number, units_});
        if (!is_known) {
          ExpectNotSent(slot, NotSentReason::kConnectionGone, 0);
        } else if (text.find('\0') != std::string::npos) {
          unparsed_ = slot;
          ExpectNotSent(slot, NotSentReason::kNulByte, -1);
        } else {
          unparsed_ = -1;
          Expect("parse", slot, std::to_string(number) + " " + Quote(text));
        }
        break;
      case Command::kClose:
        PutInts({number});
        if (is_known) {
          Expect("close", slot, std::to_string(number));
        } else {
          ExpectNotSent(slot, NotSentReason::kConnectionGone, 0);
        }
        break;
      case Command::kSync:
        if (is_known) {
          unparsed_ = -1;
          Expect("sync", slot, "");
        } else {
          ExpectNotSent(slot, NotSentReason::kConnectionGone, 0);
        }
        break;
      case Command::kSkip:
        break;
    }
  }

  FuzzedDataProvider* data_;
  int32_t units_ = 0;
  int32_t unparsed_ = -1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  Recorder recorder;
  ParamReader reader(&recorder);
  std::string recorded;
  record = &recorded;
  if (data.ConsumeIntegralInRange(0, 3) > 0) {
    Writer writer(&data);
    writer.Write();
    const std::string utf8 = ToUtf8(writer.tick.text);
    CHECK(Run(&reader, writer.tick, utf8, writer.tick.text.size()));
    CHECK(recorded == writer.expected);
    return 0;
  }
  Tick tick;
  const int count = data.ConsumeIntegralInRange(0, 60);
  for (int n = 0; n < count; ++n) {
    tick.ints.push_back(data.ConsumeBool() ? data.ConsumeIntegralInRange(-1, 8)
                                           : data.ConsumeIntegral<int32_t>());
  }
  tick.bytes = data.ConsumeRandomLengthString(40);
  const bool is_ascii = data.ConsumeBool();
  const std::string text = data.ConsumeRemainingBytesAsString();
  Run(&reader, tick, text, is_ascii ? text.size() : fuzz::ToUtf16(text).size());
  return 0;
}
