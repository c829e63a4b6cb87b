// See client_encoding.h.
#include "client_encoding.h"

#include <cstring>

namespace pg_conduit {

bool SpeaksUtf8(const PGconn* conn) {
  static const int kUtf8 = pg_char_to_encoding("UTF8");
  static const int kSqlAscii = pg_char_to_encoding("SQL_ASCII");
  const int encoding = PQclientEncoding(conn);
  if (encoding == kUtf8 || PQparameterStatus(conn, "client_encoding") == nullptr) return true;
  // The encoding of such a database is not known; what is not valid UTF-8 becomes U+FFFD.
  const char* database = PQparameterStatus(conn, "server_encoding");
  return encoding == kSqlAscii && database != nullptr && std::strcmp(database, "SQL_ASCII") == 0;
}

}  // namespace pg_conduit
