// The part of Pipeline that leaves pipeline mode: texts of several statements, COPY and
// replication, by the simple protocol (PostgreSQL documentation, "Simple Query" and
// "COPY Operations" in "Message Flow"). See pipeline.h.
#include <climits>
#include <utility>

#include "pipeline.h"

namespace pg_conduit {

void Pipeline::SendSimple(int32_t slot, uint32_t flags, std::string text) {
  if (!CanSend(slot)) return;
  simple_slot_ = slot;
  simple_flags_ = flags;
  simple_text_ = std::move(text);
  StartSimple();
}

void Pipeline::StartSimple() {
  if (simple_slot_ == kNoSlot || !fifo_.empty()) return;
  const int32_t slot = std::exchange(simple_slot_, kNoSlot);
  const std::string text = std::exchange(simple_text_, std::string());
  if (PQexitPipelineMode(conn_.get()) != 1) {
    context_.delivery->Push(Event::kNotSent, slot, NotSentReason::kConnectionGone, 0);
    Lose(PQerrorMessage(conn_.get()));
    return;
  }
  ++counters_.queries;
  ++counters_.syncs;
  context_.turn->MarkSend();
  Sent(PQsendQuery(conn_.get(), text.c_str()), Phase::kSimple, slot, simple_flags_);
}

void Pipeline::EndSimple() {
  const int32_t transaction = PQtransactionStatus(conn_.get());
  if (transaction == PQTRANS_UNKNOWN) {
    Lose(kMismatch);
    return;
  }
  const int32_t slot = fifo_.front().slot;
  const int32_t cost = TakeCost(fifo_.front().sent_at);
  fifo_.pop_front();
  copy_ = CopyState::kNone;
  if (PQenterPipelineMode(conn_.get()) != 1) {
    Lose(PQerrorMessage(conn_.get()));
    return;
  }
  context_.delivery->Push(Event::kSync, slot, transaction, cost);
}

bool Pipeline::TakeCopyData() {
  const int32_t slot = fifo_.front().slot;
  const bool is_both = copy_ != CopyState::kOut;
  for (;;) {
    char* data = nullptr;
    const int size = PQgetCopyData(conn_.get(), &data, 1);
    const CopyDataPtr owned(data);
    if (size == 0) return false;
    if (size < 0) {
      // The end, or an error: the next result says which.
      copy_ = copy_ == CopyState::kBoth ? CopyState::kBothIn : CopyState::kNone;
      return true;
    }
    if (is_both) {
      context_.delivery->PushCopyMessage(slot, {data, static_cast<size_t>(size)});
    } else {
      context_.delivery->PushCopyData(slot, {data, static_cast<size_t>(size)});
    }
  }
}

bool Pipeline::PutCopyData(const char* data, size_t size) {
  if (lost() || !TakesCopyData() || size > INT_MAX) return false;
  if (PQputCopyData(conn_.get(), data, static_cast<int>(size)) != 1) {
    Lose(PQerrorMessage(conn_.get()));
    return false;
  }
  copy_undrained_ = true;
  RequestFlush();
  // The call may have written, and so read; libpq may have closed its socket.
  Drain();
  return !lost();
}

void Pipeline::NotifyDrained() {
  if (!copy_undrained_ || want_writable_ || !TakesCopyData()) return;
  copy_undrained_ = false;
  context_.delivery->Push(Event::kCopyDrained, fifo_.front().slot);
}

bool Pipeline::EndCopy(const char* message) {
  if (lost() || !TakesCopyData()) return false;
  copy_ = copy_ == CopyState::kBoth ? CopyState::kBothOut : CopyState::kNone;
  copy_undrained_ = false;
  if (!SendCopyEnd(message)) return false;
  Drain();
  return true;
}

bool Pipeline::SendCopyEnd(const char* message) {
  if (PQputCopyEnd(conn_.get(), message) != 1) {
    Lose(PQerrorMessage(conn_.get()));
    return false;
  }
  RequestFlush();
  return true;
}

}  // namespace pg_conduit
