// Whether the event loop stays awake for the next answer to a connection. To sleep and to be woken
// costs a thread CPU, and delays the answer by more; so one that comes soon is polled for (spin,
// then park).
//   Few answers are expected: when they have come, server and callers wait for each other. They are
//     polled for as long as the option says.
//   Many are: the server has more to do while the loop sleeps, and a poll saves but the CPU of the
//     sleep. It lasts no longer than that costs, which LoopTurn measures: so it costs twice the
//     best possible at most (Karlin, Li, Manasse and Owicki, "Empirical studies of competitive
//     spinning for a shared-memory multiprocessor", 1991).
// Where that is in vain it is seldom tried: behind each miss twice as many waits go by without it,
// behind a hit half as many. Owned by Pipeline.
#pragma once

#include <cstddef>
#include <cstdint>

#include "loop_turn.h"

namespace pg_conduit {

class BusyPoll {
 public:
  // For how many nanoseconds; 0: the loop may always sleep.
  BusyPoll(LoopTurn* turn, uint64_t nanos) : turn_(turn), nanos_(nanos) {}
  ~BusyPoll();
  BusyPoll(const BusyPoll&) = delete;
  BusyPoll& operator=(const BusyPoll&) = delete;

  // A Sync, or a query with one of its own, is on its way; or such a one is answered.
  void SyncSent();
  void SyncAnswered();
  // None will be answered any more.
  void ForgetSyncs();

  // The server owes `pending` answers. May be called again while it does.
  void Await(size_t pending);
  // Something has come from it.
  void Arrived();
  // Nothing is expected any more.
  void Stop();

 private:
  struct Tries {
    uint32_t misses = 0;
    uint32_t skip = 0;  // waits that go by without it
  };

  LoopTurn* turn_;
  uint64_t nanos_;
  int64_t syncs_ = 0;
  bool awaits_ = false;
  bool polls_ = false;   // it has asked the loop to stay awake
  uint64_t sleeps_ = 0;  // of the loop, when it asked
  Tries few_;            // of waits for few answers
  Tries many_;           // of those for many
  Tries* tries_ = &few_;
};

}  // namespace pg_conduit
