// The three moments of an event-loop turn that this addon uses, for all
// connections of an environment together:
//   prepare  the tick's commands go to libpq, then each pipeline is flushed
//   poll     SocketWatcher: answers are read and decoded
//   check    one call into JavaScript with all that was decoded
// Owned by AddonData; independent of N-API.
#pragma once

#include <uv.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "socket_watcher.h"

namespace pg_conduit {

class Pipeline;

class LoopTurn {
 public:
  class Owner {
   public:
    // Lets JavaScript write what it has gathered.
    virtual void EndTick() = 0;
    virtual void ReadCommands() = 0;
    virtual bool HasDelivery() const = 0;
    virtual void Deliver() = 0;
    // All is sent that this turn has to send.
    virtual void EndTurn() = 0;

   protected:
    ~Owner() = default;
  };

  LoopTurn(uv_loop_t* loop, HandleCount* handles, Owner* owner);
  ~LoopTurn();
  LoopTurn(const LoopTurn&) = delete;
  LoopTurn& operator=(const LoopTurn&) = delete;

  // The pipeline has something to send: flush it before the loop polls.
  void RequestFlush(Pipeline* pipeline) { dirty_.push_back(pipeline); }
  // Flushes those that have something to send now.
  void Flush();
  // The pipeline is being destroyed.
  void Forget(const Pipeline* pipeline);
  // Something waits to be delivered: the loop must neither sleep nor end.
  void RequestDelivery() { StayAwake(); }

  // Until EndPolling() of all who have begun, the next poll and those of that many nanoseconds
  // behind it do not sleep. Returns sleeps(): when that has changed, the time was over.
  uint64_t BeginPolling(uint64_t nanos) {
    ++pollers_;
    polling_ = std::max(polling_, nanos);
    return sleeps_;
  }
  void EndPolling(uint64_t begun) {
    if (begun != sleeps_ || --pollers_ > 0) return;
    polling_ = 0;
    poll_until_ = 0;
  }
  // How often the loop was free to sleep.
  uint64_t sleeps() const { return sleeps_; }
  // What it costs this thread to fall asleep and to be woken by an answer, in nanoseconds of its
  // CPU, as measured lately: 4 us on one machine, 50 on another.
  uint64_t sleep_cost() const { return sleep_cost_; }
  // A connection's socket has woken the loop, or was ready when it polled.
  void MarkEvent();

  // So many more answers to a Sync are on their way to one of the connections; negative: fewer.
  void ExpectSyncs(int64_t more) { expected_syncs_ += more; }
  int64_t expected_syncs() const { return expected_syncs_; }

  // Commands are being handed to libpq.
  void MarkSend() { sent_at_ = uv_hrtime(); }
  // libpq is drained next, of what has arrived until now. arrival() is told anew for each time: in
  // the same turn JavaScript may have sent something, and have been busy for long.
  void MarkRead() { arrival_ = Arrival{0, 0, false}; }
  // When the latest commands were handed over, in nanoseconds of uv_hrtime.
  uint64_t sent_at() const { return sent_at_; }

  // When the data that are being read have arrived. Data that were there before the loop polled may
  // have waited for busy JavaScript, nobody knows how long.
  struct Arrival {
    uint64_t earliest;
    uint64_t latest;
    bool slept;  // it has woken the loop
  };
  const Arrival& arrival();

 private:
  struct Handles;

  void Prepare();
  void Check();
  void StayAwake();
  // Whether this turn's poll is not to sleep.
  bool Polls();
  uint64_t Slept() const;

  uv_loop_t* loop_;
  Handles* handles_;  // freed when all of them are closed
  Owner* owner_;
  std::vector<Pipeline*> dirty_;
  std::vector<Pipeline*> flushing_;
  uint64_t sent_at_ = 0;
  uint64_t polls_at_ = 0;         // when this turn began to poll; 0 while it does not
  uint64_t idle_at_ = 0;          // how long the loop had slept in all by then
  uint64_t polled_at_ = 0;        // when the last turn's poll returned
  Arrival arrival_{0, 0, false};  // since MarkRead(); 0 until it is needed
  uint64_t pollers_ = 0;          // since the loop was free to sleep
  uint64_t polling_ = 0;          // for how long, from the next poll on
  uint64_t poll_until_ = 0;       // in nanoseconds of uv_hrtime
  uint64_t sleeps_ = 0;
  uint64_t cpu_at_ = 0;  // of the thread before a sleep that is being measured; 0: none is
  uint64_t sleep_cost_;
  int64_t expected_syncs_ = 0;
};

}  // namespace pg_conduit
