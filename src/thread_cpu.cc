// See thread_cpu.h.
#include "thread_cpu.h"

#ifndef _WIN32
#include <time.h>
#endif

namespace pg_conduit {

#ifdef _WIN32
// GetThreadTimes() counts in ticks of 15 ms.
uint64_t ThreadCpuNanos() { return 0; }
#else
uint64_t ThreadCpuNanos() {
  constexpr uint64_t kNanosPerSecond = 1000000000;
  timespec time;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(time.tv_nsec);
}
#endif

}  // namespace pg_conduit
