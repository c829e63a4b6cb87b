// The fields of an ErrorResponse or NoticeResponse, written as events.
// Called by Pipeline and by the notice receiver of each connection.
#pragma once

#include <libpq-fe.h>

#include "delivery.h"

namespace pg_conduit {

// Pushes the field count, then code and text of each field that is present
// (PostgreSQL documentation, "Error and Notice Message Fields").
void PushErrorFields(const PGresult* result, Delivery* delivery);

}  // namespace pg_conduit
