// Writes the fields of an ErrorResponse or NoticeResponse as events. Called by Pipeline and
// Connector.
#pragma once

#include <libpq-fe.h>

#include "delivery.h"

namespace pg_conduit {

// Pushes the field count, then code and text of each field that is present
// (PostgreSQL documentation, "Error and Notice Message Fields").
void PushErrorFields(const PGresult* result, Delivery* delivery);

// Whether a notice is libpq's own, about a message that came while nothing was in flight. Such an
// answer belongs to no query, and the next query would otherwise take it.
bool IsUnaskedAnswer(const PGresult* notice);

}  // namespace pg_conduit
