// See server_clock.h.
#include "server_clock.h"

#include <algorithm>

namespace pg_conduit {

namespace {

// To wake a thread takes no longer, on a machine that is not overloaded.
constexpr uint64_t kWakeNanos = 100000;

}  // namespace

ServerClock::SyncTime ServerClock::TakeSync(uint64_t sent_at, const LoopTurn::Arrival& arrival) {
  SyncTime time{0, -1};
  const uint64_t took = arrival.latest - sent_at;
  if (took < round_trip_) {
    round_trip_ = took;
    time.round_trip_micros = static_cast<int32_t>(std::min<uint64_t>(took / 1000, INT32_MAX));
  }
  uint64_t round_trip = round_trip_;
  if (arrival.slept) {
    slept_round_trip_ = std::min(slept_round_trip_, took);
    round_trip = std::min(slept_round_trip_, round_trip_ + kWakeNanos);
  }
  // The server began when it had the Sync's statements, and was done with those before.
  const uint64_t begun_at = std::max(sent_at + round_trip, last_sync_at_);
  last_sync_at_ = std::max(last_sync_at_, arrival.earliest);
  last_sync_seen_at_ = arrival.latest;
  if (arrival.earliest > begun_at) {
    const uint64_t micros = (arrival.earliest - begun_at) / 1000;
    time.cost_micros = static_cast<int32_t>(std::min<uint64_t>(micros, INT32_MAX));
  }
  return time;
}

}  // namespace pg_conduit
