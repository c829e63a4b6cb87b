// Everything that belongs to one JavaScript environment (the main thread or a worker): its
// connections, the buffers of commands, the delivery to JavaScript, and its teardown. Created by
// addon.cc.
#pragma once

#include <napi.h>
#include <uv.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "delivery.h"
#include "loop_turn.h"
#include "param_reader.h"
#include "pipeline.h"
#include "row_writer.h"
#include "socket_watcher.h"
#include "tls_files.h"

namespace pg_conduit {

class Connection;

class AddonData final : public LoopTurn::Owner, public ParamReader::Pipelines {
 public:
  // Null, with a pending JavaScript error, if the environment has no event loop.
  static std::shared_ptr<AddonData> Create(Napi::Env env);
  static std::shared_ptr<AddonData> Get(Napi::Env env);
  ~AddonData();
  AddonData(const AddonData&) = delete;
  AddonData& operator=(const AddonData&) = delete;

  // `tick`: the object whose `text` property collects the tick's texts; `deliver`: called once for
  // each delivery; `end_tick`: called before the loop polls, if kHeaderGathers is set.
  void Setup(Napi::Object tick, Napi::Function deliver, std::string json_guard,
             Napi::Function end_tick);
  // The memory that lib/native/tick-buffer.js writes commands and bytes to.
  void SetBuffers(Napi::Int32Array commands, Napi::Uint8Array bytes);
  // Hands the tick's commands to libpq.
  void ReadCommands() override;
  // Sends it now, and not before the loop polls.
  void Flush() {
    if (turn_ != nullptr) turn_->Flush();
  }
  // To be called after anything that is done outside of the loop's phases.
  void RequestDeliveryIfAny();

  void Add(int32_t id, Connection* connection) { connections_[id] = connection; }
  void Remove(int32_t id) { connections_.erase(id); }
  const PipelineContext& pipeline_context() const { return context_; }
  // Null on failure; `message` says why.
  std::shared_ptr<TlsFiles> OpenTlsFiles(TlsFiles::Texts texts, std::string* message) {
    return tls_files_.Get(std::move(texts), message);
  }
  // False once the environment is being torn down.
  bool alive() const { return turn_ != nullptr; }

 private:
  explicit AddonData(Napi::Env env) : env_(env), rows_(&delivery_), reader_(this) {}

  static void OnCleanup(napi_async_cleanup_hook_handle handle, void* data);
  void TearDown(napi_async_cleanup_hook_handle handle);

  void EndTick() override;
  void EndTurn() override;
  bool HasDelivery() const override {
    return can_run_javascript_ && !delivery_.empty() && !delivery_.IsHeldBack();
  }
  void Deliver() override;
  Pipeline* FindPipeline(int32_t connection) override;
  void NotSent(int32_t slot, NotSentReason reason, int32_t detail) override;

  // Calls into JavaScript, and runs its microtasks. What it throws is an uncaught exception.
  void Call(const Napi::FunctionReference& function, size_t count, const napi_value* arguments);
  // From here on nothing is read from JavaScript or delivered to it.
  void StopJavaScript();
  // Copies events and cells into the inbox. Returns the inbox if it is a new one, else undefined;
  // null on failure.
  napi_value FillInbox(size_t* first_cell);

  Napi::Env env_;
  std::shared_ptr<AddonData> self_;  // until the last handle is closed
  HandleCount handles_;
  Delivery delivery_;
  RowWriter rows_;
  ParamReader reader_;
  std::unique_ptr<LoopTurn> turn_;
  bool can_run_javascript_ = false;
  PipelineContext context_{};
  TlsFilesRegistry tls_files_;
  std::unordered_map<int32_t, Connection*> connections_;

  Napi::ObjectReference tick_;
  Napi::FunctionReference deliver_;
  Napi::FunctionReference end_tick_;
  std::unique_ptr<Napi::AsyncContext> async_context_;
  Napi::Reference<Napi::Int32Array> commands_;
  Napi::Reference<Napi::Uint8Array> bytes_;
  int32_t* command_data_ = nullptr;
  size_t command_capacity_ = 0;
  const char* byte_data_ = nullptr;
  size_t byte_capacity_ = 0;
  std::unique_ptr<char[]> text_;  // UTF-8 of the tick's texts
  size_t text_capacity_ = 0;
  Napi::Reference<Napi::ArrayBuffer> inbox_;
  char* inbox_data_ = nullptr;
  size_t inbox_capacity_ = 0;
  napi_async_cleanup_hook_handle cleanup_ = nullptr;
};

}  // namespace pg_conduit
