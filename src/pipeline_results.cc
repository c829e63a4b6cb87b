// The part of Pipeline that turns what libpq gives out into events: results by the phase that they
// answer, Syncs, notices and notifications. See pipeline.h.
#include <string>
#include <utility>

#include "capabilities.h"
#include "client_encoding.h"
#include "command_tag.h"
#include "pg_error.h"
#include "pipeline.h"

namespace pg_conduit {

void Pipeline::TakeResult(ResultPtr result) {
  Pending& head = fifo_.front();
  Delivery* delivery = context_.delivery;
  const ExecStatusType status = PQresultStatus(result.get());
  const RowWriter::Receiving received = std::exchange(receiving_, RowWriter::Receiving());
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
      // With the fields, if no row has told them; and with rows that were not received.
      if (!received.has_begun() && head.shape != nullptr) {
        context_.rows->WriteNone(head.shape, head.slot);
      } else if (!received.has_begun() || PQntuples(result.get()) > 0) {
        context_.rows->Write(result.get(), head.slot, head.flags);
      }
      has_tag = PushCommandTag(result.get(), head.slot, delivery);
      // Of rows in chunks the last chunk has the tag, or the result behind it.
      head.completed = has_tag || was_completed;
      // Here rows do not come in chunks, and those of the next statement would be taken for these.
      if (!has_tag && head.phase == Phase::kSimple) Lose(kMismatch);
      break;
    case PGRES_COMMAND_OK:
      if ((head.flags & kFlagDescribe) != 0) {
        if (head.phase == Phase::kExecute) TakeDescription(result.get());
      } else if (head.phase == Phase::kParse) {
        delivery->Push(Event::kParsed, head.slot);
      } else if (HasRows(head.phase) && !PushCommandTag(result.get(), head.slot, delivery)) {
        // No tag, but somebody waits for the result.
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
        // Of a Sync that nobody waits for: the server says why it ends the session.
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
    case PGRES_COPY_BOTH:
      if (head.phase == Phase::kSimple) {
        copy_ = CopyState::kBoth;
        head.completed = false;
        delivery->Push(Event::kCopyBoth, head.slot);
        break;
      }
      Lose("replication cannot begin in a pipeline");
      break;
    case PGRES_COPY_IN:
      if (copy_ == CopyState::kBothIn) {
        copy_ = CopyState::kNone;
        head.completed = false;
        SendCopyEnd(nullptr);
        break;
      }
      [[fallthrough]];
    case PGRES_COPY_OUT:
      if (head.phase == Phase::kSimple) {
        const bool is_in = status == PGRES_COPY_IN;
        copy_ = is_in ? CopyState::kIn : CopyState::kOut;
        head.completed = false;
        delivery->Push(is_in ? Event::kCopyIn : Event::kCopyOut, head.slot,
                       PQbinaryTuples(result.get()), PQnfields(result.get()));
        break;
      }
      Lose("COPY FROM STDIN and COPY TO STDOUT cannot run in a pipeline");
      break;
  }
}

size_t Pipeline::TakeRows(const PGresult* result, std::string_view messages) {
  // TakeResult() ends a connection whose rows are not taken here.
  if (fifo_.empty() || !SpeaksUtf8(conn_.get())) return 0;
  const Pending& head = fifo_.front();
  if (!HasRows(head.phase) || (head.flags & kFlagDescribe) != 0) return 0;
  return context_.rows->Receive(&receiving_, head.shape, result, messages, head.slot, head.flags);
}

int Pipeline::ReceiveRows(void* pipeline, const PGresult* result, const char* messages,
                          int length) {
  auto* self = static_cast<Pipeline*>(pipeline);
  return static_cast<int>(self->TakeRows(result, {messages, static_cast<size_t>(length)}));
}

void Pipeline::TakeDescription(const PGresult* result) {
  const Pending& head = fifo_.front();
  if (PQnfields(result) > 0) context_.rows->Write(result, head.slot, head.flags);
  std::string types;
  for (int index = 0; index < PQnparams(result); ++index) {
    if (index > 0) types += ' ';
    types += std::to_string(PQparamtype(result, index));
  }
  context_.delivery->Push(Event::kCompleteOther, head.slot);
  context_.delivery->PushText(types);
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
  const int32_t cost = TakeCost(fifo_.front().sent_at);
  fifo_.pop_front();
  if (slot != kNoSlot) context_.delivery->Push(Event::kSync, slot, transaction, cost);
}

int32_t Pipeline::TakeCost(uint64_t sent_at) {
  busy_poll_.SyncAnswered();
  const ServerClock::SyncTime time = clock_.TakeSync(sent_at, context_.turn->arrival());
  if (time.round_trip_micros >= 0) {
    context_.delivery->Push(Event::kRoundTrip, id_, time.round_trip_micros);
  }
  return time.cost_micros;
}

void Pipeline::TakeNotifications() {
  while (NotifyPtr notify{PQnotifies(conn_.get())}) {
    context_.delivery->PushWithText(Event::kNotification, id_, notify->be_pid);
    context_.delivery->PushText(notify->relname);
    context_.delivery->PushText(notify->extra);
  }
}

int32_t Pipeline::SlotOfNotice() const {
  const size_t place = SyncWaits(conn_.get()) ? 1 : 0;
  return place < fifo_.size() ? fifo_[place].slot : kNoSlot;
}

void Pipeline::ReceiveNotice(void* pipeline, const PGresult* result) {
  auto* self = static_cast<Pipeline*>(pipeline);
  if (IsUnaskedAnswer(result)) {
    self->has_unasked_ = true;
    return;
  }
  self->context_.delivery->PushWithText(Event::kNotice, self->id_, self->SlotOfNotice());
  PushErrorFields(result, self->context_.delivery);
}

}  // namespace pg_conduit
