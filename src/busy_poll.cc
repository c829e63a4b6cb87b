// See busy_poll.h.
#include "busy_poll.h"

#include <algorithm>

namespace pg_conduit {

namespace {

// So of 257 waits one is tried in vain: less than 1 us for each.
constexpr uint32_t kMaxMisses = 8;

// With more of them on their way the server answers as many while the loop sleeps: measured with 1
// to 64 callers, and with 2 to 10 transactions at a time.
constexpr int64_t kFewSyncs = 4;
// So is it with more queries and Syncs on one connection: measured with 4 to 64 callers, whose
// queries go in two groups, and with batches.
constexpr size_t kFewPending = 8;

}  // namespace

BusyPoll::~BusyPoll() {
  ForgetSyncs();
  Stop();
}

void BusyPoll::SyncSent() {
  ++syncs_;
  turn_->ExpectSyncs(1);
}

void BusyPoll::SyncAnswered() {
  --syncs_;
  turn_->ExpectSyncs(-1);
}

void BusyPoll::ForgetSyncs() {
  turn_->ExpectSyncs(-syncs_);
  syncs_ = 0;
}

void BusyPoll::Await(size_t pending) {
  if (awaits_ || nanos_ == 0) return;
  awaits_ = true;
  const bool is_few = turn_->expected_syncs() <= kFewSyncs && pending <= kFewPending;
  tries_ = is_few ? &few_ : &many_;
  if (tries_->skip > 0) {
    --tries_->skip;
    return;
  }
  polls_ = true;
  sleeps_ = turn_->BeginPolling(is_few ? nanos_ : std::min(nanos_, turn_->sleep_cost()));
}

void BusyPoll::Arrived() {
  if (polls_) {
    if (turn_->sleeps() == sleeps_) {
      if (tries_->misses > 0) --tries_->misses;
    } else {
      tries_->misses = std::min(tries_->misses + 1, kMaxMisses);
      tries_->skip = uint32_t{1} << tries_->misses;
    }
  }
  Stop();
}

void BusyPoll::Stop() {
  if (polls_) turn_->EndPolling(sleeps_);
  awaits_ = false;
  polls_ = false;
}

}  // namespace pg_conduit
