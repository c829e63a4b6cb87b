// The fields of an ErrorResponse or NoticeResponse, written as events.
// Called by Pipeline and by the notice receiver of each connection.
#pragma once

#include <libpq-fe.h>

#include "delivery.h"

namespace pg_conduit {

// Pushes the field count, then code and text of each field that is present
// (PostgreSQL documentation, "Error and Notice Message Fields").
void PushErrorFields(const PGresult* result, Delivery* delivery);

// Whether a notice is libpq's own, about a message that came while nothing was
// asked: an answer to nobody, which the next question would otherwise take.
bool IsUnaskedAnswer(const PGresult* notice);

}  // namespace pg_conduit
