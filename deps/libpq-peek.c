/*
 * What libpq knows and does not tell: the order in which the server has reported its
 * parameters, which shows who it is; while COPY data are being sent it leaves an
 * error of the server's unread until their end; and it reads a notice at once, also
 * one that stands behind a Sync which nobody has fetched yet. And it sets the
 * receiver of rows that one of our patches adds, and, for another one, whether columns
 * are known. Compiled into the bundled libpq; src/capabilities.h declares it, and does
 * without it for a system libpq.
 */
#include "postgres_fe.h"

#include "libpq-int.h"

int pg_conduit_error_waits(const PGconn *conn);
int pg_conduit_sync_waits(const PGconn *conn);
int pg_conduit_last_parameters(const PGconn *conn, const char **names, int count);
void pg_conduit_receive_rows(PGconn *conn,
                             int (*receiver)(void *, const PGresult *, const char *, int),
                             void *arg);
int pg_conduit_send_known(PGconn *conn, const char *statement, int count, const char *const *values,
                          const int *lengths, const int *formats, int result_format,
                          int returns_rows);

/* To be called after PQconsumeInput: parsing stops at a message that must wait. */
int pg_conduit_error_waits(const PGconn *conn) {
  return conn->asyncStatus == PGASYNC_COPY_IN && conn->inStart < conn->inEnd &&
         conn->inBuffer[conn->inStart] == PqMsg_ErrorResponse;
}

/* To be called by a notice receiver: then the notice is about what follows the Sync. */
int pg_conduit_sync_waits(const PGconn *conn) {
  return conn->asyncStatus == PGASYNC_READY && conn->result != NULL &&
         conn->result->resultStatus == PGRES_PIPELINE_SYNC;
}

/* The names of those that were reported last, the last one first. Returns how many. */
int pg_conduit_last_parameters(const PGconn *conn, const char **names, int count) {
  int found = 0;
  const pgParameterStatus *status = conn != NULL ? conn->pstatus : NULL;
  for (; status != NULL && found < count; status = status->next) names[found++] = status->name;
  return found;
}

/*
 * Rows that are read go to the receiver: the messages that have arrived, of which the
 * first is a whole DataRow, and the result that it belongs to, which describes the
 * columns. It returns how many bytes of them it takes, whole DataRow messages only; at
 * 0 libpq treats the first one as usual. They are valid during the call only. The
 * receiver may only ask libpq about the result and about parameters of the session.
 */
void pg_conduit_receive_rows(PGconn *conn,
                             int (*receiver)(void *, const PGresult *, const char *, int),
                             void *arg) {
  conn->rowReceiver = receiver;
  conn->rowReceiverArg = arg;
}

/*
 * PQsendQueryPrepared() without a Describe: the caller knows whether the statement
 * returns rows, and with which columns. The receiver gets the rows, with a result
 * that has no columns.
 */
int pg_conduit_send_known(PGconn *conn, const char *statement, int count, const char *const *values,
                          const int *lengths, const int *formats, int result_format,
                          int returns_rows) {
  int sent;

  if (conn == NULL) return 0;
  conn->knownColumns = returns_rows ? PGCOLUMNS_KNOWN : PGCOLUMNS_NONE;
  sent = PQsendQueryPrepared(conn, statement, count, values, lengths, formats, result_format);
  conn->knownColumns = PGCOLUMNS_UNKNOWN;
  return sent;
}
