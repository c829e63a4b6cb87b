// The CPU time of this thread. Used by LoopTurn.
#pragma once

#include <cstdint>

namespace pg_conduit {

// In nanoseconds; 0 where the system does not count it so finely.
uint64_t ThreadCpuNanos();

}  // namespace pg_conduit
