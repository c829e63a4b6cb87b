// One cancel request: a connection of its own to the server, which the server closes when it has
// signalled the backend. Whether the signal came in time cannot be known here. Owned by Pipeline.
#pragma once

#include <libpq-fe.h>
#include <uv.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "delivery.h"
#include "libpq_ptr.h"
#include "socket_watcher.h"
#include "tls_files.h"

namespace pg_conduit {

class Cancel final : public SocketWatcher::Owner {
 public:
  // `files`: the files with the connection's certificates and keys, or null.
  Cancel(uv_loop_t* loop, HandleCount* handles, Delivery* delivery, int32_t connection,
         std::shared_ptr<TlsFiles> files)
      : loop_(loop),
        handles_(handles),
        delivery_(delivery),
        connection_(connection),
        files_(std::move(files)) {}
  ~Cancel();
  Cancel(const Cancel&) = delete;
  Cancel& operator=(const Cancel&) = delete;

  // kCancelled follows, unless this object is destroyed first.
  void Start(PGconn* conn);

 private:
  struct Work;

  void OnSocketEvent(int status, int events) override;
  void Advance(PostgresPollingStatusType state);
  void Finish(bool ok, const char* message);

  uv_loop_t* loop_;
  HandleCount* handles_;
  Delivery* delivery_;
  int32_t connection_;
  std::shared_ptr<TlsFiles> files_;
  CancelPtr cancel_;
  std::unique_ptr<SocketWatcher> watcher_;
  [[maybe_unused]] Work* work_ = nullptr;  // on libuv's thread pool; owns itself
};

}  // namespace pg_conduit
