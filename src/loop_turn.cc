// See loop_turn.h.
#include "loop_turn.h"

#include <utility>

#include "pipeline.h"
#include "thread_cpu.h"

namespace pg_conduit {

namespace {

// A poll that slept for longer than this was woken by something that arrived just then.
constexpr uint64_t kSleptNanos = 20000;

// Until it is measured; where it is not, for good.
constexpr uint64_t kUsualSleepCost = 20000;
constexpr uint64_t kSleepsPerMeasurement = 8;
// So much of it is the latest measurement.
constexpr uint64_t kNewPart = 8;
// Longer after the poll somebody else's callback has run, whose CPU is not the sleep's.
constexpr uint64_t kFirstNanos = 3000;

}  // namespace

struct LoopTurn::Handles {
  uv_prepare_t prepare;
  uv_check_t check;
  uv_idle_t idle;  // active while the loop must stay awake: makes the poll return at once
  HandleCount* count;
  LoopTurn* turn;  // null once the LoopTurn is gone
  int open;
};

LoopTurn::LoopTurn(uv_loop_t* loop, HandleCount* handles, Owner* owner)
    : loop_(loop), handles_(new Handles()), owner_(owner), sleep_cost_(kUsualSleepCost) {
  handles_->count = handles;
  handles_->turn = this;
  handles_->open = 3;
  // These three never fail (docs.libuv.org, "prepare", "check", "idle").
  uv_prepare_init(loop, &handles_->prepare);
  uv_check_init(loop, &handles_->check);
  uv_idle_init(loop, &handles_->idle);
  handles_->prepare.data = handles_;
  handles_->check.data = handles_;
  handles_->idle.data = handles_;
  handles->Opened();
  uv_prepare_start(&handles_->prepare, [](uv_prepare_t* handle) {
    LoopTurn* turn = static_cast<Handles*>(handle->data)->turn;
    if (turn != nullptr) turn->Prepare();
  });
  uv_check_start(&handles_->check, [](uv_check_t* handle) {
    LoopTurn* turn = static_cast<Handles*>(handle->data)->turn;
    if (turn != nullptr) turn->Check();
  });
  // Connections keep the loop alive, and so does a delivery that waits (idle). These two are always
  // active, and must not.
  uv_unref(reinterpret_cast<uv_handle_t*>(&handles_->prepare));
  uv_unref(reinterpret_cast<uv_handle_t*>(&handles_->check));
}

LoopTurn::~LoopTurn() {
  handles_->turn = nullptr;
  const uv_close_cb closed = [](uv_handle_t* handle) {
    auto* handles = static_cast<Handles*>(handle->data);
    if (--handles->open > 0) return;
    HandleCount* count = handles->count;
    std::unique_ptr<Handles> owned(handles);
    owned.reset();
    count->Closed();
  };
  uv_close(reinterpret_cast<uv_handle_t*>(&handles_->prepare), closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&handles_->check), closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&handles_->idle), closed);
}

void LoopTurn::Forget(const Pipeline* pipeline) {
  const auto drop = [pipeline](std::vector<Pipeline*>* list) {
    list->erase(std::remove(list->begin(), list->end(), pipeline), list->end());
  };
  drop(&dirty_);
  // Prepare() may be iterating over this one.
  std::replace(flushing_.begin(), flushing_.end(), const_cast<Pipeline*>(pipeline),
               static_cast<Pipeline*>(nullptr));
}

void LoopTurn::StayAwake() {
  uv_idle_start(&handles_->idle, [](uv_idle_t*) {});
}

void LoopTurn::Flush() {
  flushing_.swap(dirty_);
  for (Pipeline* pipeline : flushing_) {
    if (pipeline != nullptr) pipeline->Flush();
  }
  flushing_.clear();
}

void LoopTurn::Prepare() {
  owner_->EndTick();
  owner_->ReadCommands();
  Flush();
  owner_->EndTurn();
  polls_at_ = uv_hrtime();
  // Sending and flushing also read answers; the loop must not sleep on those.
  if (owner_->HasDelivery() || Polls()) {
    StayAwake();
  } else if (uv_backend_timeout(loop_) != 0) {
    if (++sleeps_ % kSleepsPerMeasurement == 0) cpu_at_ = ThreadCpuNanos();
    pollers_ = 0;
  }
  idle_at_ = uv_metrics_idle_time(loop_);
}

bool LoopTurn::Polls() {
  if (polling_ != 0) {
    poll_until_ = std::max(poll_until_, polls_at_ + polling_);
    polling_ = 0;
  }
  return polls_at_ < poll_until_;
}

const LoopTurn::Arrival& LoopTurn::arrival() {
  if (arrival_.latest != 0) return arrival_;
  const uint64_t now = uv_hrtime();
  // Not the time since then: what another socket has brought may have kept JavaScript busy
  // meanwhile.
  const uint64_t slept = polls_at_ == 0 ? 0 : Slept();
  const bool has_slept = slept > kSleptNanos;
  arrival_ = Arrival{has_slept ? polls_at_ + slept : polled_at_, now, has_slept};
  return arrival_;
}

uint64_t LoopTurn::Slept() const { return uv_metrics_idle_time(loop_) - idle_at_; }

void LoopTurn::MarkEvent() {
  const uint64_t before = std::exchange(cpu_at_, 0);
  if (before == 0) return;
  const uint64_t slept = Slept();
  if (slept == 0 || uv_hrtime() - polls_at_ > slept + kFirstNanos) return;
  const uint64_t cost = ThreadCpuNanos() - before;
  sleep_cost_ = (sleep_cost_ * (kNewPart - 1) + cost) / kNewPart;
}

void LoopTurn::Check() {
  uv_idle_stop(&handles_->idle);
  cpu_at_ = 0;
  polled_at_ = polls_at_ + Slept();
  polls_at_ = 0;
  owner_->Deliver();
}

}  // namespace pg_conduit
