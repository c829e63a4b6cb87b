// The command tag of a result ("SELECT 1"), written as an event: a number for the common commands,
// else its text. Called by Pipeline.
#pragma once

#include <libpq-fe.h>

#include <cstdint>

#include "delivery.h"

namespace pg_conduit {

// Pushes kComplete or kCompleteOther. False: the result has no tag, and nothing was pushed.
bool PushCommandTag(const PGresult* result, int32_t slot, Delivery* delivery);

}  // namespace pg_conduit
