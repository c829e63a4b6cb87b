// Establishes one connection: PQconnectStart, then PQconnectPoll on a poll handle until libpq
// succeeds or fails. Owned by Connection, which takes over the PGconn when it is ready. Host names
// were resolved before (`hostaddr`), so that nothing here blocks.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libpq_ptr.h"
#include "pipeline.h"
#include "socket_watcher.h"
#include "tls_files.h"

namespace pg_conduit {

class Connector final : public SocketWatcher::Owner {
 public:
  class Owner {
   public:
    // Both may destroy the Connector, which calls them only from Conclude(). `files` may be read
    // again, for a cancel request.
    virtual void OnConnected(ConnPtr conn, std::shared_ptr<TlsFiles> files) = 0;
    virtual void OnConnectFailed(std::string message) = 0;

   protected:
    ~Owner() = default;
  };

  Connector(const PipelineContext& context, int32_t id, Owner* owner)
      : context_(context), id_(id), owner_(owner) {}
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Keywords and values as PQconnectStartParams takes them; the `files` that they name, or null;
  // the most SCRAM iterations, 0 for no limit.
  void Start(const std::vector<std::string>& keywords, const std::vector<std::string>& values,
             std::shared_ptr<TlsFiles> files, int max_scram_iterations);

  int DuplicateSocket() const { return pg_conduit::DuplicateSocket(PQsocket(conn_.get())); }

 private:
  enum class Progress { kWaiting, kConnected, kFailed };

  void OnSocketEvent(int status, int events) override;
  // These never call the owner: they return what becomes of the connection.
  Progress Begin(const char* const* keywords, const char* const* values);
  Progress Poll();
  Progress Advance(PostgresPollingStatusType state);
  Progress Fail(std::string message);
  // The last call on the way out, since the owner may destroy this object.
  void Conclude(Progress progress);
  // What libpq says, and in a further line why a certificate was refused.
  std::string FailureMessage() const;
  static void ReceiveNotice(void* connector, const PGresult* result);

  PipelineContext context_;
  int32_t id_;
  Owner* owner_;
  int max_scram_iterations_ = 0;
  bool has_unasked_ = false;
  std::string failure_;
  ConnPtr conn_;
  std::shared_ptr<TlsFiles> files_;
  std::unique_ptr<SocketWatcher> watcher_;
};

}  // namespace pg_conduit
