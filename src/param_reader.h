// From the tick's command buffer to libpq: reads the records that lib/native/tick-buffer.js has
// written, checks every length, and hands each command to the pipeline of its connection. Owned by
// AddonData.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline.h"

namespace pg_conduit {

class ParamReader {
 public:
  class Pipelines {
   public:
    // Null if the connection is gone.
    virtual Pipeline* FindPipeline(int32_t connection) = 0;
    virtual void NotSent(int32_t slot, NotSentReason reason, int32_t detail) = 0;

   protected:
    ~Pipelines() = default;
  };

  explicit ParamReader(Pipelines* pipelines) : pipelines_(pipelines) {}
  ParamReader(const ParamReader&) = delete;
  ParamReader& operator=(const ParamReader&) = delete;

  // `commands`: the records, without the header. `text`: UTF-8 of the tick's string, `text_units`
  // its length in UTF-16 units. False if the records do not fit the buffers; nothing behind that
  // point was sent.
  bool Read(const int32_t* commands, size_t count, std::string_view text, size_t text_units,
            std::string_view bytes);

 private:
  bool ReadRecord();
  bool ReadParams(int32_t count);
  bool TakeInt(int32_t* value);
  // The next text with its NUL; `has_nul` says whether there is another one inside.
  bool TakeText(int32_t units, std::string_view* text, bool* has_nul);
  bool TakeBytes(int32_t size, std::string_view* bytes);

  Pipelines* pipelines_;
  const int32_t* at_ = nullptr;
  const int32_t* end_ = nullptr;
  std::string_view text_;
  std::string_view bytes_;
  bool text_is_ascii_ = true;

  // The arrays of one command, reused.
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
  std::vector<char> digits_;  // decimal text of kInt32 parameters
  uint64_t message_size_ = 0;
  int32_t nul_parameter_ = -1;
  // The slot whose Parse was not sent: its Execute would fail, and abort a transaction.
  int32_t slot_without_parse_ = -1;
};

}  // namespace pg_conduit
