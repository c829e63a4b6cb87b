// How long a server has worked for a connection, without the time that the network takes: what the
// pool's choice of a connection and the deadlines of the driver's own statements are based on.
// Owned by Pipeline, which asks at each Sync.
#pragma once

#include <cstdint>

#include "loop_turn.h"

namespace pg_conduit {

class ServerClock {
 public:
  struct SyncTime {
    int32_t cost_micros;        // the server's work for all that the Sync ends
    int32_t round_trip_micros;  // -1: not shorter than before
  };

  // The answer of a Sync has arrived that was sent at `sent_at`, in nanoseconds of uv_hrtime.
  SyncTime TakeSync(uint64_t sent_at, const LoopTurn::Arrival& arrival);

  // When the answer of the last Sync was read; 0: there was none.
  uint64_t last_sync_seen_at() const { return last_sync_seen_at_; }

 private:
  // The shortest time between a Sync and its answer, in nanoseconds: that of the network, without
  // the server's work.
  uint64_t round_trip_ = UINT64_MAX;
  uint64_t slept_round_trip_ = UINT64_MAX;  // of those whose answer has woken the loop
  uint64_t last_sync_at_ = 0;               // when the last answer arrived, at the earliest
  uint64_t last_sync_seen_at_ = 0;
};

}  // namespace pg_conduit
