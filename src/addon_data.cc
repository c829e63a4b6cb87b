// See addon_data.h.
#include "addon_data.h"

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "connection.h"

namespace pg_conduit {

namespace {

constexpr size_t kMinInbox = size_t{16} << 10;
constexpr size_t kKeptInbox = size_t{4} << 20;  // a larger one is given back
constexpr size_t kKeptText = size_t{1} << 20;

napi_value MakeString(napi_env env, const std::string& latin1) {
  napi_value value = nullptr;
  if (latin1.empty() ||
      napi_create_string_latin1(env, latin1.data(), latin1.size(), &value) != napi_ok) {
    napi_get_undefined(env, &value);
  }
  return value;
}

napi_value MakeString(napi_env env, const std::u16string& utf16) {
  napi_value value = nullptr;
  if (utf16.empty() ||
      napi_create_string_utf16(env, utf16.data(), utf16.size(), &value) != napi_ok) {
    napi_get_undefined(env, &value);
  }
  return value;
}

napi_value MakeUtf8String(napi_env env, const std::string& utf8) {
  napi_value value = nullptr;
  if (utf8.empty() || napi_create_string_utf8(env, utf8.data(), utf8.size(), &value) != napi_ok) {
    napi_get_undefined(env, &value);
  }
  return value;
}

napi_value MakeBuffer(napi_env env, const std::string& bytes) {
  napi_value value = nullptr;
  if (bytes.empty() ||
      napi_create_buffer_copy(env, bytes.size(), bytes.data(), nullptr, &value) != napi_ok) {
    napi_get_undefined(env, &value);
  }
  return value;
}

constexpr size_t kChunkParts = 4;
// More units than a string of V8 can have; three times as many bytes still fit an int.
constexpr size_t kMaxUnits = size_t{1} << 29;

[[noreturn]] void FailDamaged() {
  napi_fatal_error("pg_conduit::AddonData::ReadCommands", NAPI_AUTO_LENGTH,
                   "the command buffer is damaged", NAPI_AUTO_LENGTH);
}

void MakeChunk(napi_env env, const TextChunk& chunk, napi_value* parts) {
  parts[0] = MakeString(env, chunk.ascii);
  parts[1] = MakeString(env, chunk.wide);
  parts[2] = MakeUtf8String(env, chunk.json);
  parts[3] = MakeBuffer(env, chunk.bytes);
}

}  // namespace

std::shared_ptr<AddonData> AddonData::Create(Napi::Env env) {
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) != napi_ok) {
    Napi::Error::New(env, "pg-conduit needs a libuv event loop, which this runtime does not have")
        .ThrowAsJavaScriptException();
    return nullptr;
  }
  std::shared_ptr<AddonData> data(new AddonData(env));
  data->self_ = data;
  data->turn_ = std::make_unique<LoopTurn>(loop, &data->handles_, data.get());
  data->context_ = {loop, &data->handles_, data->turn_.get(), &data->delivery_, &data->rows_};
  napi_add_async_cleanup_hook(env, OnCleanup, data.get(), &data->cleanup_);
  env.SetInstanceData(new std::shared_ptr<AddonData>(data));
  return data;
}

std::shared_ptr<AddonData> AddonData::Get(Napi::Env env) {
  return *env.GetInstanceData<std::shared_ptr<AddonData>>();
}

AddonData::~AddonData() = default;

void AddonData::OnCleanup(napi_async_cleanup_hook_handle handle, void* data) {
  static_cast<AddonData*>(data)->TearDown(handle);
}

void AddonData::TearDown(napi_async_cleanup_hook_handle handle) {
  // No JavaScript runs any more. Connections are closed in an orderly way, and the environment
  // waits for libuv's close callbacks.
  can_run_javascript_ = false;
  for (const auto& entry : connections_) entry.second->ShutDown();
  turn_.reset();
  tick_.Reset();
  deliver_.Reset();
  end_tick_.Reset();
  commands_.Reset();
  bytes_.Reset();
  inbox_.Reset();
  async_context_.reset();
  cleanup_ = handle;
  handles_.argument = this;
  handles_.on_none = [](void* argument) {
    auto* self = static_cast<AddonData*>(argument);
    const std::shared_ptr<AddonData> last = std::move(self->self_);
    napi_remove_async_cleanup_hook(self->cleanup_);
  };
}

void AddonData::Setup(Napi::Object tick, Napi::Function deliver, std::string json_guard,
                      Napi::Function end_tick) {
  delivery_.SetJsonGuard(std::move(json_guard));
  tick_ = Napi::Persistent(tick);
  deliver_ = Napi::Persistent(deliver);
  end_tick_ = Napi::Persistent(end_tick);
  async_context_ = std::make_unique<Napi::AsyncContext>(env_, "pg-conduit");
  can_run_javascript_ = true;
}

void AddonData::SetBuffers(Napi::Int32Array commands, Napi::Uint8Array bytes) {
  commands_ = Napi::Persistent(commands);
  bytes_ = Napi::Persistent(bytes);
  command_data_ = commands.Data();
  command_capacity_ = commands.ElementLength();
  byte_data_ = reinterpret_cast<const char*>(bytes.Data());
  byte_capacity_ = bytes.ByteLength();
}

void AddonData::EndTick() {
  if (command_data_ == nullptr || !can_run_javascript_) return;
  if (command_data_[kHeaderGathers] == 0) return;
  command_data_[kHeaderGathers] = 0;
  const Napi::HandleScope scope(env_);
  Call(end_tick_, 0, nullptr);
  // Microtasks have gathered more: the loop must not sleep on that.
  if (can_run_javascript_ && command_data_[kHeaderGathers] != 0) turn_->RequestDelivery();
}

void AddonData::ReadCommands() {
  if (command_data_ == nullptr || !can_run_javascript_) return;
  const auto used = static_cast<size_t>(command_data_[kHeaderUsed]);
  if (used <= kHeaderSize) return;
  const auto units = static_cast<size_t>(command_data_[kHeaderTextLength]);
  const auto bytes = static_cast<size_t>(command_data_[kHeaderBytesLength]);
  // Checked before anything is made of them; a negative number is too large here.
  if (used > command_capacity_ || bytes > byte_capacity_ || units > kMaxUnits) {
    FailDamaged();
  }
  const Napi::HandleScope scope(env_);
  size_t size = 0;
  if (units > 0) {
    // Three bytes for each unit are enough for any string, so that one pass suffices.
    const size_t capacity = units * 3 + 1;
    if (capacity > text_capacity_) {
      text_.reset(new char[capacity]);
      text_capacity_ = capacity;
    }
    napi_value text = nullptr;
    napi_value empty = nullptr;
    if (napi_get_named_property(env_, tick_.Value(), "text", &text) != napi_ok ||
        napi_get_value_string_utf8(env_, text, text_.get(), capacity, &size) != napi_ok ||
        napi_create_string_latin1(env_, "", 0, &empty) != napi_ok ||
        napi_set_named_property(env_, tick_.Value(), "text", empty) != napi_ok) {
      StopJavaScript();
      return;
    }
  }
  // Cleared first: a lost connection may be reported, but nothing here runs JavaScript that could
  // write to the buffers meanwhile.
  command_data_[kHeaderUsed] = kHeaderSize;
  command_data_[kHeaderTextLength] = 0;
  command_data_[kHeaderBytesLength] = 0;
  const uint32_t ticks = static_cast<uint32_t>(command_data_[kHeaderTicks]) + 1;
  command_data_[kHeaderTicks] = static_cast<int32_t>(ticks);
  turn_->MarkSend();
  if (!reader_.Read(command_data_ + kHeaderSize, used - kHeaderSize,
                    std::string_view(text_.get(), size), units,
                    std::string_view(byte_data_, bytes))) {
    FailDamaged();
  }
  if (text_capacity_ > kKeptText) {
    text_.reset();
    text_capacity_ = 0;
  }
}

void AddonData::EndTurn() {
  if (command_data_ == nullptr || !can_run_javascript_) return;
  const uint32_t turns = static_cast<uint32_t>(command_data_[kHeaderTurns]) + 1;
  command_data_[kHeaderTurns] = static_cast<int32_t>(turns);
}

void AddonData::StopJavaScript() {
  // The thread is being terminated; its handles still run until TearDown().
  can_run_javascript_ = false;
  delivery_.Clear();
}

void AddonData::RequestDeliveryIfAny() {
  if (HasDelivery()) turn_->RequestDelivery();
}

Pipeline* AddonData::FindPipeline(int32_t connection) {
  const auto found = connections_.find(connection);
  return found == connections_.end() ? nullptr : found->second->pipeline();
}

void AddonData::NotSent(int32_t slot, NotSentReason reason, int32_t detail) {
  delivery_.Push(Event::kNotSent, slot, reason, detail);
}

napi_value AddonData::FillInbox(size_t* first_cell) {
  const std::vector<int32_t>& events = delivery_.events();
  const Delivery::Cells& cells = delivery_.cells();
  *first_cell = (events.size() + 1) / 2;
  const size_t needed = (*first_cell + cells.size()) * sizeof(uint64_t);
  napi_value inbox = nullptr;
  napi_get_undefined(env_, &inbox);
  const bool too_large = inbox_capacity_ > kKeptInbox && needed < inbox_capacity_ / 4;
  if (needed > inbox_capacity_ || too_large) {
    size_t capacity = kMinInbox;
    while (capacity < needed) capacity *= 2;
    void* data = nullptr;
    if (napi_create_arraybuffer(env_, capacity, &data, &inbox) != napi_ok) return nullptr;
    inbox_ = Napi::Persistent(Napi::ArrayBuffer(env_, inbox));
    inbox_data_ = static_cast<char*>(data);
    inbox_capacity_ = capacity;
  }
  std::memcpy(inbox_data_, events.data(), events.size() * sizeof(int32_t));
  if (!cells.empty()) {
    std::memcpy(inbox_data_ + *first_cell * sizeof(uint64_t), cells.data(),
                cells.size() * sizeof(uint64_t));
  }
  return inbox;
}

void AddonData::Deliver() {
  if (!can_run_javascript_) delivery_.Clear();
  if (delivery_.empty() || delivery_.IsHeldBack()) return;
  const Napi::HandleScope scope(env_);
  delivery_.FinishJson();
  size_t first_cell = 0;
  // event ints, first cell, inbox if new, the first chunk's parts, more chunks
  napi_value arguments[4 + kChunkParts];
  arguments[2] = FillInbox(&first_cell);
  if (arguments[2] == nullptr) {
    StopJavaScript();
    return;
  }
  napi_create_uint32(env_, static_cast<uint32_t>(delivery_.events().size()), &arguments[0]);
  napi_create_uint32(env_, static_cast<uint32_t>(first_cell), &arguments[1]);
  const TextChunk none;
  const size_t chunks = delivery_.chunk_count();
  MakeChunk(env_, chunks > 0 ? delivery_.chunk(0) : none, &arguments[3]);
  napi_value* const more = &arguments[3 + kChunkParts];
  if (chunks > 1) {
    napi_create_array_with_length(env_, (chunks - 1) * kChunkParts, more);
    uint32_t at = 0;
    for (size_t index = 1; index < chunks; ++index) {
      const Napi::HandleScope chunk_scope(env_);
      napi_value parts[kChunkParts];
      MakeChunk(env_, delivery_.chunk(index), parts);
      for (napi_value part : parts) napi_set_element(env_, *more, at++, part);
    }
  } else {
    napi_get_undefined(env_, more);
  }
  // JavaScript may send and close, which writes to the next delivery.
  delivery_.Clear();
  Call(deliver_, 4 + kChunkParts, arguments);
}

void AddonData::Call(const Napi::FunctionReference& function, size_t count,
                     const napi_value* arguments) {
  napi_value result = nullptr;
  const napi_status status = napi_make_callback(env_, *async_context_, tick_.Value(),
                                                function.Value(), count, arguments, &result);
  if (status == napi_pending_exception) {
    napi_value error = nullptr;
    if (napi_get_and_clear_last_exception(env_, &error) == napi_ok) {
      napi_fatal_exception(env_, error);
    }
  }
}

}  // namespace pg_conduit
