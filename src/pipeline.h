// One established connection in libpq's pipeline mode, and the only queue of what was sent on it
// and not yet answered. Nothing else calls PQsend*, PQgetResult or PQflush. Owned by Connection;
// flushed by LoopTurn; independent of N-API.
//
// The invariants (CONTRIBUTING.md, "Before you edit pipeline.cc"):
//  - libpq is drained after every send and every flush, and before anything
//    else is asked of it;
//  - PQgetResult is never called while PQisBusy;
//  - once PQstatus is BAD no result is believed;
//  - the socket watcher is closed before libpq's descriptor can be reused.
#pragma once

#include <libpq-fe.h>
#include <openssl/types.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "busy_poll.h"
#include "cancel.h"
#include "capabilities.h"
#include "delivery.h"
#include "libpq_ptr.h"
#include "loop_turn.h"
#include "row_writer.h"
#include "server_clock.h"
#include "socket_watcher.h"
#include "statement_names.h"
#include "wire_format.h"

namespace pg_conduit {

// What all pipelines of an environment share.
struct PipelineContext {
  uv_loop_t* loop;
  HandleCount* handles;
  LoopTurn* turn;
  Delivery* delivery;
  RowWriter* rows;
};

struct PipelineCounters {
  uint64_t queries = 0;
  uint64_t parses = 0;
  uint64_t syncs = 0;
  uint64_t flushes = 0;  // PQflush calls with something to send
  uint64_t wakeups = 0;  // times the socket was reported readable
};

// The arrays that PQsendQueryParams and PQsendQueryPrepared take. Text values
// end in NUL.
struct ParamArrays {
  int count;
  const char* const* values;
  const int* lengths;
  const int* formats;
};

// Why a connection cannot be trusted with another query or another value.
constexpr char kMismatch[] = "the server's answers do not match what was sent";
constexpr char kUnaskedAnswer[] = "the server has sent an answer that nobody asked for";

inline bool HasRows(Phase phase) { return phase == Phase::kExecute || phase == Phase::kSimple; }
// Whether a ReadyForQuery ends its answer.
inline bool EndsByReady(Phase phase) { return phase == Phase::kSync || phase == Phase::kSimple; }

class Pipeline final : public SocketWatcher::Owner {
 public:
  // `conn` is connected and in non-blocking pipeline mode; `files`: those that it names, or null;
  // `busy_poll`: for how many nanoseconds the loop stays awake for an answer.
  Pipeline(const PipelineContext& context, int32_t id, ConnPtr conn,
           std::shared_ptr<TlsFiles> files, uint64_t busy_poll);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Each of these reports by events; by kNotSent if the connection is lost.
  void SendQuery(int32_t slot, uint32_t flags, const char* text, const ParamArrays& params);
  void SendParse(int32_t slot, int32_t statement, const char* text);
  // `columns`: the id of the shape of its rows, or KnownColumns.
  void SendExecute(int32_t slot, uint32_t flags, int32_t statement, int32_t columns,
                   const ParamArrays& params);
  void SendClose(int32_t slot, int32_t statement);
  void SendSync(int32_t slot);
  void Flush();

  // Runs a text of several statements, or a COPY, by the simple protocol. Pipeline mode ends as
  // soon as all that was sent is answered. Nothing else may be sent before the kSync of this query.
  void SendSimple(int32_t slot, uint32_t flags, std::string text);
  // Sends COPY data. False if the server does not wait for any, or no longer does.
  bool PutCopyData(const char* data, size_t size);
  // Ends the COPY. With a message the server is told to fail it.
  bool EndCopy(const char* message);

  // Sends a cancel request for what the server runs, on a connection of its own; kCancelled
  // follows.
  void RequestCancel();
  // If nothing is read, the server stops when the network's buffers are full.
  void SetReading(bool reading);

  void SetLoopRef(bool loop_ref);
  // False if nothing can be received; `message` says why.
  bool Start(bool loop_ref, std::string* message);
  // Fails what is pending and closes the socket; events report it.
  void Lose(const char* message);

  // What the server has reported for a parameter of its session, or null.
  const char* ParameterStatus(const char* name) const {
    return lost() ? nullptr : PQparameterStatus(conn_.get(), name);
  }
  // Up to `count`, and no more than 16, the last one first.
  std::vector<const char*> LastParameters(int count) const {
    std::vector<const char*> names(lost() ? 0 : static_cast<size_t>(std::clamp(count, 0, 16)));
    names.resize(
        pg_conduit::LastParameters(conn_.get(), names.data(), static_cast<int>(names.size())));
    return names;
  }
  bool is_encrypted() const { return !lost() && PQsslInUse(conn_.get()) != 0; }
  // Where it leads: address and port, or the folder of a unix socket and port; empty if not known.
  std::string ServerAddress() const;
  int DuplicateSocket() const {
    return lost() ? -1 : pg_conduit::DuplicateSocket(PQsocket(conn_.get()));
  }
  int socket_family() const { return lost() ? -1 : SocketFamily(PQsocket(conn_.get())); }
  void SetKeepAlive(bool enable, int idle_seconds) {
    if (!lost()) pg_conduit::SetKeepAlive(PQsocket(conn_.get()), enable, idle_seconds);
  }

  // What the server has to answer next, and since when it has had nothing else to do, in
  // nanoseconds of uv_hrtime.
  struct Head {
    int32_t slot;  // kNoSlot: no query waits for it
    uint64_t since;
  };
  std::optional<Head> head() const {
    if (fifo_.empty()) return std::nullopt;
    const Pending& first = fifo_.front();
    return Head{first.slot, std::max(first.sent_at, clock_.last_sync_seen_at())};
  }

  bool lost() const { return conn_ == nullptr; }
  const PipelineCounters& counters() const { return counters_; }
  size_t pending() const { return fifo_.size(); }

 private:
  struct Pending {
    Phase phase;
    int32_t slot;
    uint32_t flags;
    bool answered;              // a result has come, its NULL has not
    bool completed;             // so has its end: a tag, an error
    uint64_t sent_at;           // uv_hrtime
    RowWriter::ShapePtr shape;  // of rows that the server does not describe
  };

  // kBoth: replication, until either side ends its half: kBothOut, what the server still sends;
  // kBothIn, the server has ended its half, and waits for the end of ours.
  enum class CopyState { kNone, kIn, kOut, kBoth, kBothOut, kBothIn };

  void OnSocketEvent(int status, int events) override;
  // True when the command was handed to libpq. `shape`: of rows that are not described.
  bool Sent(int result, Phase phase, int32_t slot, uint32_t flags,
            RowWriter::ShapePtr shape = nullptr);
  // Parse and Describe: the types of a statement that is not executed.
  void SendDescribe(int32_t slot, uint32_t flags, const char* text);
  // Whether nothing was sent since the last Sync.
  bool IsBehindSync() const { return fifo_.empty() || fifo_.back().phase == Phase::kSync; }
  bool CanSend(int32_t slot);
  void RequestFlush();
  void AwaitAnswer();
  void Drain();
  void StartSimple();
  void EndSimple();
  bool GivesCopyData() const {
    return copy_ == CopyState::kOut || copy_ == CopyState::kBoth || copy_ == CopyState::kBothOut;
  }
  bool TakesCopyData() const { return copy_ == CopyState::kIn || copy_ == CopyState::kBoth; }
  // False if more input is needed.
  bool TakeCopyData();
  // False if it is lost.
  bool SendCopyEnd(const char* message);
  void NotifyDrained();
  void TakeResult(ResultPtr result);
  // How many bytes were rows of the query that is being answered.
  size_t TakeRows(const PGresult* result, std::string_view messages);
  void TakeSync();
  void TakeDescription(const PGresult* result);
  void SendProbe();
  // The server's work for what the Sync at the head ends, in microseconds.
  int32_t TakeCost(uint64_t sent_at);
  void TakeNotifications();
  void Consume();
  // Whether OpenSSL has bytes that the socket does not announce again.
  bool HoldsUnread() const;
  bool Watch();
  // That the server answers as it sends the notice that is being received.
  int32_t SlotOfNotice() const;
  static void ReceiveNotice(void* pipeline, const PGresult* result);
  static int ReceiveRows(void* pipeline, const PGresult* result, const char* messages, int length);

  PipelineContext context_;
  int32_t id_;
  ConnPtr conn_;        // null once the connection is lost
  SSL* ssl_ = nullptr;  // libpq's, if it has one
  std::shared_ptr<TlsFiles> files_;
  StatementNames names_;
  std::unique_ptr<SocketWatcher> watcher_;
  std::deque<Pending> fifo_;
  RowWriter::Receiving receiving_;  // of the result that is being read
  PipelineCounters counters_;
  ServerClock clock_;
  BusyPoll busy_poll_;
  bool has_unasked_ = false;   // see IsUnaskedAnswer
  bool has_own_sync_ = false;  // what was sent last is a Sync, too
  bool flush_requested_ = false;
  bool want_writable_ = false;
  bool loop_ref_ = true;
  bool reading_ = true;
  int32_t simple_slot_ = kNoSlot;  // of a simple query that waits for its turn
  uint32_t simple_flags_ = 0;
  std::string simple_text_;
  CopyState copy_ = CopyState::kNone;
  bool copy_undrained_ = false;
  std::unique_ptr<Cancel> cancel_;
};

}  // namespace pg_conduit
