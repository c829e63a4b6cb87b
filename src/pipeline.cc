// Sending, reading and the end of a connection; simple_query.cc and pipeline_results.cc have the
// other parts of Pipeline. See pipeline.h.
#include "pipeline.h"

#include <openssl/ssl.h>

#include <utility>

#include "capabilities.h"
#include "client_encoding.h"

namespace pg_conduit {

namespace {

// Rows that are decoded together: few enough not to hold up the event loop,
// enough for what each PGresult costs.
constexpr int kChunkRows = 256;

// More than it takes to empty a socket's buffer.
constexpr int kMaxLastReads = 4096;

// TLS records that are read before others have their turn, of 16 kB at most.
constexpr int kMaxReads = 8;

}  // namespace

Pipeline::Pipeline(const PipelineContext& context, int32_t id, ConnPtr conn,
                   std::shared_ptr<TlsFiles> files, uint64_t busy_poll)
    : context_(context),
      id_(id),
      conn_(std::move(conn)),
      files_(std::move(files)),
      busy_poll_(context.turn, busy_poll) {
  if (PQsslInUse(conn_.get()) != 0) {
    ssl_ = static_cast<SSL*>(PQsslStruct(conn_.get(), "OpenSSL"));
  }
  // As many records as there are in one call of the kernel; else each takes two.
  if (ssl_ != nullptr) SSL_set_read_ahead(ssl_, 1);
  PQsetNoticeReceiver(conn_.get(), ReceiveNotice, this);
  SetRowReceiver(conn_.get(), ReceiveRows, this);
}

Pipeline::~Pipeline() {
  context_.turn->Forget(this);
  // Closed before PQfinish frees the descriptor.
  watcher_.reset();
}

bool Pipeline::Start(bool loop_ref, std::string* message) {
  loop_ref_ = loop_ref;
  if (!names_.ok()) {
    *message = "OpenSSL has no random numbers to name prepared statements by";
    return false;
  }
  watcher_ =
      SocketWatcher::Create(context_.loop, context_.handles, PQsocket(conn_.get()), this, loop_ref);
  if (watcher_ == nullptr || !Watch()) {
    *message = "the event loop cannot watch the connection's socket";
    return false;
  }
  SendProbe();
  return true;
}

// A Sync for nobody: its answer shows the round trip, before any statement
// could be blamed for it.
void Pipeline::SendProbe() {
  context_.turn->MarkSend();
  Sent(SendPipelineSync(conn_.get()), Phase::kSync, kNoSlot, 0);
}

std::string Pipeline::ServerAddress() const {
  if (lost()) return "";
  const char* address = PQhostaddr(conn_.get());
  // A unix socket has none.
  if (address == nullptr || *address == '\0') address = PQhost(conn_.get());
  const char* port = PQport(conn_.get());
  if (address == nullptr || *address == '\0' || port == nullptr) return "";
  return std::string(address) + " " + port;
}

void Pipeline::SetLoopRef(bool loop_ref) {
  loop_ref_ = loop_ref;
  if (watcher_ != nullptr) watcher_->SetLoopRef(loop_ref);
}

bool Pipeline::CanSend(int32_t slot) {
  // Nothing but its Sync may follow.
  if (has_own_sync_) Lose(kMismatch);
  if (!lost()) return true;
  context_.delivery->Push(Event::kNotSent, slot, NotSentReason::kConnectionGone, 0);
  return false;
}

bool Pipeline::Sent(int result, Phase phase, int32_t slot, uint32_t flags,
                    RowWriter::ShapePtr shape) {
  if (result == 0) {
    // libpq may have queued a part of it, which nothing can take back.
    const std::string message = PQerrorMessage(conn_.get());
    context_.delivery->Push(Event::kNotSent, slot, NotSentReason::kConnectionGone, 1);
    Lose(message.c_str());
    return false;
  }
  fifo_.push_back(
      Pending{phase, slot, flags, false, false, context_.turn->sent_at(), std::move(shape)});
  if (EndsByReady(phase)) busy_poll_.SyncSent();
  RequestFlush();
  // A full output buffer made libpq read while it was writing.
  Drain();
  return true;
}

void Pipeline::RequestFlush() {
  if (flush_requested_) return;
  flush_requested_ = true;
  context_.turn->RequestFlush(this);
}

void Pipeline::SendQuery(int32_t slot, uint32_t flags, const char* text,
                         const ParamArrays& params) {
  if (!CanSend(slot)) return;
  if ((flags & kFlagDescribe) != 0) {
    SendDescribe(slot, flags, text);
    return;
  }
  ++counters_.queries;
  if (kPipelinesSimple && (flags & kFlagSimple) != 0 && params.count == 0 && IsBehindSync()) {
    has_own_sync_ = Sent(PQsendQuery(conn_.get(), text), Phase::kExecute, slot, flags);
    return;
  }
  flags &= ~static_cast<uint32_t>(kFlagSimple);
  Sent(PQsendQueryParams(conn_.get(), text, params.count, nullptr, params.values, params.lengths,
                         params.formats, (flags & kFlagBinary) != 0 ? 1 : 0),
       Phase::kExecute, slot, flags);
}

void Pipeline::SendDescribe(int32_t slot, uint32_t flags, const char* text) {
  ++counters_.parses;
  // The statement without a name: nobody uses it behind its own Sync.
  constexpr char kUnnamed[] = "";
  const bool is_parsing = Sent(PQsendPrepare(conn_.get(), kUnnamed, text, 0, nullptr),
                               Phase::kParse, slot, kFlagDescribe);
  if (!is_parsing || lost()) return;
  Sent(PQsendDescribePrepared(conn_.get(), kUnnamed), Phase::kExecute, slot, flags);
}

void Pipeline::SendParse(int32_t slot, int32_t statement, const char* text) {
  if (!CanSend(slot)) return;
  ++counters_.parses;
  Sent(PQsendPrepare(conn_.get(), names_.Get(statement).text, text, 0, nullptr), Phase::kParse,
       slot, 0);
}

void Pipeline::SendExecute(int32_t slot, uint32_t flags, int32_t statement, int32_t columns,
                           const ParamArrays& params) {
  if (!CanSend(slot)) return;
  ++counters_.queries;
  const StatementName name = names_.Get(statement);
  const int format = (flags & kFlagBinary) != 0 ? 1 : 0;
  RowWriter::ShapePtr shape = kOmitsDescribe ? context_.rows->Find(columns, flags) : nullptr;
  if (shape != nullptr || (kOmitsDescribe && columns == kColumnsNone)) {
    const int sent = SendKnown(conn_.get(), name.text, params.count, params.values, params.lengths,
                               params.formats, format, shape != nullptr);
    Sent(sent, Phase::kExecute, slot, flags, std::move(shape));
    return;
  }
  Sent(PQsendQueryPrepared(conn_.get(), name.text, params.count, params.values, params.lengths,
                           params.formats, format),
       Phase::kExecute, slot, flags);
}

void Pipeline::SendClose(int32_t slot, int32_t statement) {
  if (!CanSend(slot)) return;
  const StatementName name = names_.Get(statement);
  if (kHasClosePrepared) {
    Sent(SendClosePrepared(conn_.get(), name.text), Phase::kClose, slot, 0);
    return;
  }
  const std::string text = std::string("DEALLOCATE ") + name.text;
  Sent(PQsendQueryParams(conn_.get(), text.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0),
       Phase::kClose, slot, 0);
}

void Pipeline::SendSync(int32_t slot) {
  const bool is_sent = std::exchange(has_own_sync_, false);
  if (!CanSend(slot)) return;
  ++counters_.syncs;
  Sent(is_sent || SendPipelineSync(conn_.get()), Phase::kSync, slot, 0);
}

void Pipeline::Flush() {
  flush_requested_ = false;
  Drain();
  if (lost()) return;
  ++counters_.flushes;
  const int result = PQflush(conn_.get());
  want_writable_ = result == 1;
  Drain();
  if (lost()) return;
  if (result < 0 && PQstatus(conn_.get()) == CONNECTION_BAD) {
    Lose(PQerrorMessage(conn_.get()));
    return;
  }
  NotifyDrained();
  // A full socket makes libpq read while it writes.
  if (reading_ && HoldsUnread()) Consume();
  if (lost()) return;
  if (!Watch()) {
    Lose("the event loop cannot watch the connection's socket");
    return;
  }
  AwaitAnswer();
}

void Pipeline::AwaitAnswer() {
  // Rows that still come are read faster if more of them are read at a time.
  if (lost() || !reading_ || fifo_.empty() || receiving_.has_begun()) {
    busy_poll_.Stop();
  } else {
    busy_poll_.Await(fifo_.size());
  }
}

bool Pipeline::Watch() {
  return watcher_->Watch((reading_ ? UV_READABLE : 0) | (want_writable_ ? UV_WRITABLE : 0));
}

void Pipeline::SetReading(bool reading) {
  reading_ = reading;
  if (lost()) return;
  // What libpq holds already is not announced by the socket again.
  Drain();
  if (!lost() && reading_ && HoldsUnread()) Consume();
  if (!lost() && !Watch()) Lose("the event loop cannot watch the connection's socket");
}

void Pipeline::RequestCancel() {
  if (lost()) return;
  cancel_ =
      std::make_unique<Cancel>(context_.loop, context_.handles, context_.delivery, id_, files_);
  cancel_->Start(conn_.get());
}

void Pipeline::OnSocketEvent(int status, int events) {
  if (status < 0) {
    // The watcher has stopped: read now what arrived before the connection was reset.
    // Then libpq finds the reason, which libuv does not know.
    for (int reads = 0; reads < kMaxLastReads && reading_ && !lost(); ++reads) Consume();
    Lose(uv_strerror(status));
    return;
  }
  context_.turn->MarkEvent();
  ++counters_.wakeups;
  if ((events & UV_READABLE) != 0) busy_poll_.Arrived();
  if (reading_) Consume();
  if (lost()) return;
  if ((events & UV_WRITABLE) != 0) Flush();
  AwaitAnswer();
}

void Pipeline::Consume() {
  for (int reads = 0; reads < kMaxReads; ++reads) {
    if (PQconsumeInput(conn_.get()) == 0) {
      Lose(PQerrorMessage(conn_.get()));
      return;
    }
    Drain();
    if (lost() || !HoldsUnread()) return;
  }
  // Others have their turn, and what the socket does not announce again is read in the next one.
  RequestFlush();
  context_.turn->RequestDelivery();
}

bool Pipeline::HoldsUnread() const {
  // It tells of a part of a record, too, of which the rest has not come: then it wanted to read.
  return ssl_ != nullptr && SSL_has_pending(ssl_) != 0 && !SSL_want_read(ssl_);
}

void Pipeline::Drain() {
  context_.turn->MarkRead();
  while (!lost() && reading_ && !fifo_.empty() && copy_ != CopyState::kIn) {
    if (GivesCopyData() && !TakeCopyData()) break;
    uint32_t& flags = fifo_.front().flags;
    if (!kReceivesRows && (flags & (kFlagChunked | kFlagStreamed)) != 0) {
      if ((flags & kFlagStreamed) != 0) {
        SetStreamedRows(conn_.get(), kChunkRows);
      } else {
        SetChunkedRows(conn_.get(), kChunkRows);
      }
      flags &= ~static_cast<uint32_t>(kFlagChunked | kFlagStreamed);
    }
    if (PQisBusy(conn_.get()) != 0) break;
    ResultPtr result(PQgetResult(conn_.get()));
    // At its end libpq forgets its queue and answers anything it is asked.
    if (PQstatus(conn_.get()) == CONNECTION_BAD) break;
    if (!SpeaksUtf8(conn_.get())) {
      Lose(kOtherEncoding);
      return;
    }
    if (result != nullptr) {
      TakeResult(std::move(result));
      continue;
    }
    Pending& head = fifo_.front();
    // Rules add results to that of their statement (PostgreSQL documentation, "CREATE RULE"), which
    // only the simple protocol shows. JavaScript drops them (lib/query/query.js).
    if ((head.flags & kFlagSimple) != 0 && head.answered && !head.completed) {
      head.answered = false;
      continue;
    }
    if (!head.answered || (HasRows(head.phase) && !head.completed)) {
      Lose(kMismatch);
      return;
    }
    if (head.phase == Phase::kSync) {
      head.answered = false;  // the end of an error at commit; the Sync is still to come
    } else if (head.phase == Phase::kSimple) {
      EndSimple();
    } else {
      fifo_.pop_front();
    }
  }
  if (lost()) return;
  if (PQstatus(conn_.get()) == CONNECTION_BAD) {
    Lose(PQerrorMessage(conn_.get()));
    return;
  }
  TakeNotifications();
  if (has_unasked_) {
    Lose(kUnaskedAnswer);
    return;
  }
  if (!SpeaksUtf8(conn_.get())) {
    Lose(kOtherEncoding);
    return;
  }
  // The server takes no more data: it drops what still comes.
  if (copy_ == CopyState::kIn && ErrorWaits(conn_.get())) {
    EndCopy(nullptr);
    return;
  }
  if (watcher_ != nullptr && PQsocket(conn_.get()) != watcher_->fd()) {
    Lose("libpq closed the connection");
    return;
  }
  StartSimple();
}

void Pipeline::Lose(const char* message) {
  if (lost()) return;
  // `message` may belong to the connection that is freed below.
  Delivery* delivery = context_.delivery;
  delivery->PushWithText(Event::kLost, id_);
  delivery->PushText(message);
  const size_t count_at = delivery->Mark();
  delivery->PushInt(0);
  int32_t count = 0;
  int32_t previous = -1;
  for (const Pending& pending : fifo_) {
    if (pending.slot == previous) continue;
    previous = pending.slot;
    delivery->PushInt(pending.slot);
    ++count;
  }
  delivery->Patch(count_at, count);
  fifo_.clear();
  busy_poll_.ForgetSyncs();
  if (simple_slot_ != kNoSlot) {
    delivery->Push(Event::kNotSent, simple_slot_, NotSentReason::kConnectionGone, 0);
    simple_slot_ = kNoSlot;
  }
  copy_ = CopyState::kNone;
  has_own_sync_ = false;
  busy_poll_.Stop();
  cancel_.reset();
  watcher_.reset();
  ssl_ = nullptr;
  conn_.reset();
  files_.reset();
}

}  // namespace pg_conduit
