// The N-API side of one connection: the object that lib/connection/connection.js holds. It has
// first a Connector, then a Pipeline. JavaScript closes it; the finalizer only frees what is left.
#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "addon_data.h"
#include "connector.h"
#include "pipeline.h"

namespace pg_conduit {

class Connection : public Napi::ObjectWrap<Connection>, public Connector::Owner {
 public:
  static Napi::Function Define(Napi::Env env);

  // new Connection(id: number): the id names it in commands and events.
  explicit Connection(const Napi::CallbackInfo& info);
  ~Connection() override;

  // Null before it is connected and after it was closed.
  Pipeline* pipeline() { return pipeline_.get(); }
  // Closes everything without reporting it to JavaScript.
  void ShutDown();

 private:
  // connect(keywords: string[], values: string[], fileKeywords: string[], texts: string[],
  // scramMaxIterations: number, busyPollMicros: number): void; the texts go to libpq as files.
  // Events follow.
  void JS_Connect(const Napi::CallbackInfo& info);
  // close(): void; sends Terminate. What was pending is reported as lost.
  void JS_Close(const Napi::CallbackInfo& info);
  // leave(): number; as close(), and gives a descriptor of the same socket, on which can be seen
  // when the server closes it; -1 if there is none.
  Napi::Value JS_Leave(const Napi::CallbackInfo& info);
  // setLoopRef(ref: boolean): void
  void JS_SetLoopRef(const Napi::CallbackInfo& info);
  // simple(slot: number, flags: number, text: string): void; see Pipeline::SendSimple.
  void JS_Simple(const Napi::CallbackInfo& info);
  // putCopyData(data: Uint8Array): boolean; the data may be changed afterwards.
  Napi::Value JS_PutCopyData(const Napi::CallbackInfo& info);
  // endCopy(message?: string): boolean; with a message the COPY fails.
  Napi::Value JS_EndCopy(const Napi::CallbackInfo& info);
  // cancel(): void; kCancelled follows while there is a connection.
  void JS_Cancel(const Napi::CallbackInfo& info);
  // setReading(reading: boolean): void
  void JS_SetReading(const Napi::CallbackInfo& info);
  // counters(): { queries, parses, syncs, flushes, wakeups, pending }
  Napi::Value JS_Counters(const Napi::CallbackInfo& info);
  // head(): { slot, millis } | undefined; what the server is to answer next, and for how long it
  // has had nothing else to do.
  Napi::Value JS_Head(const Napi::CallbackInfo& info);
  // parameterStatus(name: string): string | null; null if the server has not reported it.
  Napi::Value JS_ParameterStatus(const Napi::CallbackInfo& info);
  Napi::Value JS_IsEncrypted(const Napi::CallbackInfo& info);
  // serverAddress(): string; the address, or the folder of the unix socket, and the port; empty if
  // that is not known.
  Napi::Value JS_ServerAddress(const Napi::CallbackInfo& info);
  // socketFamily(): number; -1 if that is not known.
  Napi::Value JS_SocketFamily(const Napi::CallbackInfo& info);
  // lastParameters(count: number): string[]; the names of those that the server has reported last,
  // the last one first; empty if that is not known.
  Napi::Value JS_LastParameters(const Napi::CallbackInfo& info);
  // setKeepAlive(enable: boolean, idleSeconds: number): void; 0: the time is not changed.
  void JS_SetKeepAlive(const Napi::CallbackInfo& info);

  void OnConnected(ConnPtr conn, std::shared_ptr<TlsFiles> files) override;
  void OnConnectFailed(std::string message) override;

  std::shared_ptr<AddonData> data_;
  int32_t id_ = 0;
  bool loop_ref_ = true;
  uint64_t busy_poll_ = 0;  // nanoseconds
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<Pipeline> pipeline_;
  PipelineCounters last_counters_;  // once the pipeline is closed
};

}  // namespace pg_conduit
