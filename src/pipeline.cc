// See pipeline.h.
#include "pipeline.h"

#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "capabilities.h"
#include "pg_error.h"

namespace pg_conduit {

namespace {

// Names are numbers that a connection never uses twice, behind a prefix that no other
// connection has: a pooler may give a session of the server to one after the
// other, and a name that meant something else there would run the wrong text.
// An identifier that needs no quotes, for DEALLOCATE.
struct StatementName {
  StatementName(std::string_view prefix, int32_t statement) {
    char* const end = std::copy(prefix.begin(), prefix.end(), text);
    // Without a sign, which would need quotes, when they have come past 2^31.
    *std::to_chars(end, text + sizeof(text) - 1, static_cast<uint32_t>(statement)).ptr = '\0';
  }
  char text[32];
};

// "pgc_", 50 random bits and "_"; nothing if there are none to be had.
std::string MakeNamePrefix() {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  unsigned char random[10] = {};
  if (RAND_bytes(random, sizeof(random)) != 1) return {};
  std::string prefix = "pgc_";
  for (const unsigned char each : random) prefix += kAlphabet[each % kAlphabet.size()];
  return prefix + '_';
}

// Rows that are decoded together: few enough not to hold up the event loop,
// enough for what each PGresult costs.
constexpr int kChunkRows = 256;

// More than it takes to empty a socket's buffer.
constexpr int kMaxLastReads = 4096;

struct KnownTag {
  std::string_view word;
  CommandTag tag;
};

constexpr KnownTag kKnownTags[] = {
    {"SELECT ", CommandTag::kSelect}, {"INSERT 0 ", CommandTag::kInsert},
    {"UPDATE ", CommandTag::kUpdate}, {"DELETE ", CommandTag::kDelete},
    {"MERGE ", CommandTag::kMerge},
};

bool HasRows(Phase phase) { return phase == Phase::kExecute || phase == Phase::kSimple; }

}  // namespace

bool SpeaksUtf8(const PGconn* conn) {
  static const int kUtf8 = pg_char_to_encoding("UTF8");
  static const int kSqlAscii = pg_char_to_encoding("SQL_ASCII");
  const int encoding = PQclientEncoding(conn);
  if (encoding == kUtf8 || PQparameterStatus(conn, "client_encoding") == nullptr) return true;
  // Of such a database nobody knows better; what is no UTF-8 becomes U+FFFD.
  const char* database = PQparameterStatus(conn, "server_encoding");
  return encoding == kSqlAscii && database != nullptr && std::strcmp(database, "SQL_ASCII") == 0;
}

Pipeline::Pipeline(const PipelineContext& context, int32_t id, ConnPtr conn,
                   std::shared_ptr<TlsFiles> files)
    : context_(context),
      id_(id),
      conn_(std::move(conn)),
      files_(std::move(files)),
      name_prefix_(MakeNamePrefix()) {
  PQsetNoticeReceiver(conn_.get(), ReceiveNotice, this);
}

Pipeline::~Pipeline() {
  context_.turn->Forget(this);
  // Closed before PQfinish frees the descriptor.
  watcher_.reset();
}

bool Pipeline::Start(bool loop_ref, std::string* message) {
  loop_ref_ = loop_ref;
  if (name_prefix_.empty()) {
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

void Pipeline::SetLoopRef(bool loop_ref) {
  loop_ref_ = loop_ref;
  if (watcher_ != nullptr) watcher_->SetLoopRef(loop_ref);
}

bool Pipeline::CanSend(int32_t slot) {
  if (!lost()) return true;
  context_.delivery->Push(Event::kNotSent, slot, NotSentReason::kConnectionGone, 0);
  return false;
}

bool Pipeline::Sent(int result, Phase phase, int32_t slot, uint32_t flags) {
  if (result == 0) {
    // libpq may have queued a part of it, which nothing can take back.
    const std::string message = PQerrorMessage(conn_.get());
    context_.delivery->Push(Event::kNotSent, slot, NotSentReason::kConnectionGone, 1);
    Lose(message.c_str());
    return false;
  }
  fifo_.push_back(Pending{phase, slot, flags, false, false, context_.turn->sent_at()});
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
  ++counters_.queries;
  Sent(PQsendQueryParams(conn_.get(), text, params.count, nullptr, params.values, params.lengths,
                         params.formats, (flags & kFlagBinary) != 0 ? 1 : 0),
       Phase::kExecute, slot, flags);
}

void Pipeline::SendParse(int32_t slot, int32_t statement, const char* text) {
  if (!CanSend(slot)) return;
  ++counters_.parses;
  Sent(PQsendPrepare(conn_.get(), StatementName(name_prefix_, statement).text, text, 0, nullptr),
       Phase::kParse, slot, 0);
}

void Pipeline::SendExecute(int32_t slot, uint32_t flags, int32_t statement,
                           const ParamArrays& params) {
  if (!CanSend(slot)) return;
  ++counters_.queries;
  Sent(PQsendQueryPrepared(conn_.get(), StatementName(name_prefix_, statement).text, params.count,
                           params.values, params.lengths, params.formats,
                           (flags & kFlagBinary) != 0 ? 1 : 0),
       Phase::kExecute, slot, flags);
}

void Pipeline::SendClose(int32_t slot, int32_t statement) {
  if (!CanSend(slot)) return;
  const StatementName name(name_prefix_, statement);
  if (kHasClosePrepared) {
    Sent(SendClosePrepared(conn_.get(), name.text), Phase::kClose, slot, 0);
    return;
  }
  const std::string text = std::string("DEALLOCATE ") + name.text;
  Sent(PQsendQueryParams(conn_.get(), text.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0),
       Phase::kClose, slot, 0);
}

void Pipeline::SendSync(int32_t slot) {
  if (!CanSend(slot)) return;
  ++counters_.syncs;
  Sent(SendPipelineSync(conn_.get()), Phase::kSync, slot, 0);
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
  if (!Watch()) Lose("the event loop cannot watch the connection's socket");
}

bool Pipeline::Watch() {
  return watcher_->Watch((reading_ ? UV_READABLE : 0) | (want_writable_ ? UV_WRITABLE : 0));
}

void Pipeline::SetReading(bool reading) {
  reading_ = reading;
  if (lost()) return;
  // What libpq holds already is not announced by the socket again.
  Drain();
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
    // The watcher has stopped, so that what has arrived before the connection was
    // reset must be read now; then libpq reads the reason (libuv knows none).
    for (int reads = 0; reads < kMaxLastReads && reading_ && !lost(); ++reads) Consume();
    Lose(uv_strerror(status));
    return;
  }
  ++counters_.wakeups;
  if (reading_) Consume();
  if (lost()) return;
  if ((events & UV_WRITABLE) != 0) Flush();
}

void Pipeline::Consume() {
  // Bytes that OpenSSL holds already are not announced by the socket again.
  SSL* ssl = nullptr;
  if (PQsslInUse(conn_.get()) != 0) {
    ssl = static_cast<SSL*>(PQsslStruct(conn_.get(), "OpenSSL"));
  }
  do {
    if (PQconsumeInput(conn_.get()) == 0) {
      Lose(PQerrorMessage(conn_.get()));
      return;
    }
    Drain();
  } while (!lost() && ssl != nullptr && SSL_pending(ssl) > 0);
}

void Pipeline::Drain() {
  while (!lost() && reading_ && !fifo_.empty() && copy_ != CopyState::kIn) {
    if (copy_ == CopyState::kOut && !TakeCopyData()) break;
    uint32_t& flags = fifo_.front().flags;
    if ((flags & (kFlagChunked | kFlagStreamed)) != 0) {
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

void Pipeline::TakeResult(ResultPtr result) {
  Pending& head = fifo_.front();
  Delivery* delivery = context_.delivery;
  const ExecStatusType status = PQresultStatus(result.get());
  // At the Sync the server commits, which may fail: deferred constraints.
  if (head.phase == Phase::kSync && status != PGRES_PIPELINE_SYNC && status != PGRES_FATAL_ERROR) {
    Lose(kMismatch);
    return;
  }
  head.answered = true;
  const bool was_completed = std::exchange(head.completed, true);
  bool has_tag = false;
  switch (status) {
    case PGRES_TUPLES_OK:
    case PGRES_SINGLE_TUPLE:
#ifdef LIBPQ_HAS_CHUNK_MODE
    case PGRES_TUPLES_CHUNK:
#endif
      if (!HasRows(head.phase)) {
        Lose(kMismatch);
        return;
      }
      context_.rows->Write(result.get(), head.slot, head.flags & kFlagDecodeMask);
      has_tag = TakeCommandTag(result.get(), head.slot);
      // Of rows in chunks it is the last chunk that has it, or what comes behind it.
      head.completed = has_tag || was_completed;
      // These do not come in chunks, and the next rows would be taken for theirs.
      if (!has_tag && head.phase == Phase::kSimple) Lose(kMismatch);
      break;
    case PGRES_COMMAND_OK:
      if (head.phase == Phase::kParse) {
        delivery->Push(Event::kParsed, head.slot);
      } else if (HasRows(head.phase) && !TakeCommandTag(result.get(), head.slot)) {
        // Somebody waits for a result, whatever it is called.
        delivery->Push(Event::kCompleteOther, head.slot);
        delivery->PushText("");
      }
      break;
    case PGRES_EMPTY_QUERY:
      delivery->Push(Event::kEmptyQuery, head.slot);
      break;
    case PGRES_FATAL_ERROR:
    case PGRES_NONFATAL_ERROR:
    case PGRES_BAD_RESPONSE:
      if (head.slot == kNoSlot) {
        // The server's last words, though nobody has asked.
        ReceiveNotice(this, result.get());
        break;
      }
      delivery->PushWithText(Event::kError, head.slot, head.phase);
      PushErrorFields(result.get(), delivery);
      break;
    case PGRES_PIPELINE_ABORTED:
      delivery->Push(Event::kAborted, head.slot, head.phase);
      break;
    case PGRES_PIPELINE_SYNC:
      TakeSync();
      break;
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
      if (head.phase == Phase::kSimple) {
        const bool is_in = status == PGRES_COPY_IN;
        copy_ = is_in ? CopyState::kIn : CopyState::kOut;
        head.completed = false;
        delivery->Push(is_in ? Event::kCopyIn : Event::kCopyOut, head.slot,
                       PQbinaryTuples(result.get()), PQnfields(result.get()));
        break;
      }
      [[fallthrough]];
    case PGRES_COPY_BOTH:
      Lose("COPY FROM STDIN and COPY TO STDOUT cannot run in a pipeline");
      break;
  }
}

void Pipeline::TakeSync() {
  if (fifo_.front().phase != Phase::kSync) {
    Lose(kMismatch);
    return;
  }
  // Known only when nothing else is running.
  const int32_t transaction =
      fifo_.size() == 1 ? static_cast<int32_t>(PQtransactionStatus(conn_.get())) : -1;
  if (transaction == PQTRANS_UNKNOWN) {
    Lose(kMismatch);
    return;
  }
  const int32_t slot = fifo_.front().slot;
  const int32_t cost = CostMicros(fifo_.front().sent_at);
  fifo_.pop_front();
  if (slot != kNoSlot) context_.delivery->Push(Event::kSync, slot, transaction, cost);
}

// What the server had to do for what this Sync ends: since it had it, and had
// done with what came before.
int32_t Pipeline::CostMicros(uint64_t sent_at) {
  const LoopTurn::Arrival& arrival = context_.turn->arrival();
  const uint64_t took = arrival.latest - sent_at;
  if (took < round_trip_) {
    round_trip_ = took;
    context_.delivery->Push(Event::kRoundTrip, id_, std::min<uint64_t>(took / 1000, INT32_MAX));
  }
  const uint64_t begun_at = std::max(sent_at + round_trip_, last_sync_at_);
  last_sync_at_ = std::max(last_sync_at_, arrival.earliest);
  last_sync_seen_at_ = arrival.latest;
  if (arrival.earliest <= begun_at) return 0;
  const uint64_t micros = (arrival.earliest - begun_at) / 1000;
  return static_cast<int32_t>(std::min<uint64_t>(micros, INT32_MAX));
}

bool Pipeline::TakeCommandTag(const PGresult* result, int32_t slot) {
  // PQcmdStatus takes a non-const result but does not change it.
  const std::string_view text = PQcmdStatus(const_cast<PGresult*>(result));
  if (text.empty()) return false;
  for (const KnownTag& known : kKnownTags) {
    if (text.substr(0, known.word.size()) != known.word) continue;
    uint64_t rows = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + known.word.size(), end, rows);
    if (parsed.ec != std::errc() || parsed.ptr != end) break;
    context_.delivery->Push(Event::kComplete, slot, known.tag, static_cast<uint32_t>(rows),
                            static_cast<uint32_t>(rows >> 32));
    return true;
  }
  context_.delivery->PushWithText(Event::kCompleteOther, slot);
  context_.delivery->PushText(text);
  return true;
}

void Pipeline::TakeNotifications() {
  while (NotifyPtr notify{PQnotifies(conn_.get())}) {
    context_.delivery->PushWithText(Event::kNotification, id_, notify->be_pid);
    context_.delivery->PushText(notify->relname);
    context_.delivery->PushText(notify->extra);
  }
}

void Pipeline::ReceiveNotice(void* pipeline, const PGresult* result) {
  auto* self = static_cast<Pipeline*>(pipeline);
  if (IsUnaskedAnswer(result)) {
    self->has_unasked_ = true;
    return;
  }
  self->context_.delivery->PushWithText(Event::kNotice, self->id_);
  PushErrorFields(result, self->context_.delivery);
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
  if (simple_slot_ != kNoSlot) {
    delivery->Push(Event::kNotSent, simple_slot_, NotSentReason::kConnectionGone, 0);
    simple_slot_ = kNoSlot;
  }
  copy_ = CopyState::kNone;
  cancel_.reset();
  watcher_.reset();
  conn_.reset();
  files_.reset();
}

}  // namespace pg_conduit
