// See pg_error.h.
#include "pg_error.h"

#include <string_view>

namespace pg_conduit {

void PushErrorFields(const PGresult* result, Delivery* delivery) {
  static constexpr int kFields[] = {
      PG_DIAG_SEVERITY,           PG_DIAG_SEVERITY_NONLOCALIZED,
      PG_DIAG_SQLSTATE,           PG_DIAG_MESSAGE_PRIMARY,
      PG_DIAG_MESSAGE_DETAIL,     PG_DIAG_MESSAGE_HINT,
      PG_DIAG_STATEMENT_POSITION, PG_DIAG_INTERNAL_POSITION,
      PG_DIAG_INTERNAL_QUERY,     PG_DIAG_CONTEXT,
      PG_DIAG_SCHEMA_NAME,        PG_DIAG_TABLE_NAME,
      PG_DIAG_COLUMN_NAME,        PG_DIAG_DATATYPE_NAME,
      PG_DIAG_CONSTRAINT_NAME,    PG_DIAG_SOURCE_FILE,
      PG_DIAG_SOURCE_LINE,        PG_DIAG_SOURCE_FUNCTION,
  };
  const size_t count_at = delivery->Mark();
  delivery->PushInt(0);
  int32_t count = 0;
  for (const int field : kFields) {
    const char* value = PQresultErrorField(result, field);
    if (value == nullptr) continue;
    delivery->PushInt(field);
    delivery->PushText(value);
    ++count;
  }
  if (PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) == nullptr) {
    // libpq's own errors (out of memory, protocol trouble) have no fields.
    delivery->PushInt(PG_DIAG_MESSAGE_PRIMARY);
    delivery->PushText(PQresultErrorMessage(result));
    ++count;
  }
  delivery->Patch(count_at, count);
}

bool IsUnaskedAnswer(const PGresult* notice) {
  // pqParseInput3, "arrived from server while idle". A notice of the server has an SQLSTATE.
  static constexpr std::string_view kBegin = "message type 0x";
  if (PQresultErrorField(notice, PG_DIAG_SQLSTATE) != nullptr) return false;
  const char* message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  return message != nullptr && std::string_view(message).substr(0, kBegin.size()) == kBegin;
}

}  // namespace pg_conduit
