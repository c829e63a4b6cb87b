// Whether the event loop stays awake for the next answer to a connection. To sleep and to be woken
// takes a thread 20 to 50 us of CPU, and delays the answer by more; so one that comes soon is
// polled for (spin, then park). Where answers take longer that is seldom tried: behind each miss
// twice as many waits go by without it, behind a hit half as many. Owned by Pipeline.
#pragma once

#include <cstdint>

#include "loop_turn.h"

namespace pg_conduit {

class BusyPoll {
 public:
  // For how many nanoseconds; 0: the loop may always sleep.
  BusyPoll(LoopTurn* turn, uint64_t nanos) : turn_(turn), nanos_(nanos) {}
  ~BusyPoll() { Stop(); }
  BusyPoll(const BusyPoll&) = delete;
  BusyPoll& operator=(const BusyPoll&) = delete;

  // The server owes an answer. May be called again while it does.
  void Await();
  // Something has come from it.
  void Arrived();
  // Nothing is expected any more.
  void Stop();

 private:
  LoopTurn* turn_;
  uint64_t nanos_;
  bool awaits_ = false;
  bool polls_ = false;   // it has asked the loop to stay awake
  uint64_t sleeps_ = 0;  // of the loop, when it asked
  uint32_t misses_ = 0;
  uint32_t skip_ = 0;  // waits that go by without it
};

}  // namespace pg_conduit
