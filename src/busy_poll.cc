// See busy_poll.h.
#include "busy_poll.h"

#include <algorithm>

namespace pg_conduit {

namespace {

// So of 257 waits one is tried in vain: less than 1 us for each.
constexpr uint32_t kMaxMisses = 8;

}  // namespace

void BusyPoll::Await() {
  if (awaits_ || nanos_ == 0) return;
  awaits_ = true;
  if (skip_ > 0) {
    --skip_;
    return;
  }
  polls_ = true;
  sleeps_ = turn_->BeginPolling(nanos_);
}

void BusyPoll::Arrived() {
  if (polls_) {
    if (turn_->sleeps() == sleeps_) {
      if (misses_ > 0) --misses_;
    } else {
      misses_ = std::min(misses_ + 1, kMaxMisses);
      skip_ = uint32_t{1} << misses_;
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
