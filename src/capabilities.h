// What the libpq in use can do: the newer calls as constants and wrappers, so that no other file
// tests LIBPQ_HAS_*, and the versions that are refused. addon.cc checks the version when the module
// loads; Pipeline and Connector use the rest.
#pragma once

#include <libpq-fe.h>

#ifdef PG_CONDUIT_BUNDLED_LIBPQ
// deps/libpq-peek.c
extern "C" int pg_conduit_error_waits(const PGconn* connection);
extern "C" int pg_conduit_sync_waits(const PGconn* connection);
extern "C" int pg_conduit_last_parameters(const PGconn* connection, const char** names, int count);
extern "C" void pg_conduit_receive_rows(PGconn* connection,
                                        int (*receiver)(void*, const PGresult*, const char*, int),
                                        void* argument);
extern "C" int pg_conduit_send_known(PGconn* connection, const char* statement, int count,
                                     const char* const* values, const int* lengths,
                                     const int* formats, int result_format, int returns_rows);
// deps/libpq-scram.c
extern "C" void pg_conduit_limit_scram(int iterations);
// deps/libpq-tls.c
extern "C" int pg_conduit_verify_result(void);
#endif

namespace pg_conduit {

// PQsendPipelineSync: a Sync without a flush (libpq 17).
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
inline constexpr bool kHasSendPipelineSync = true;
#else
inline constexpr bool kHasSendPipelineSync = false;
#endif

// PQsendClosePrepared: Close as a protocol message (libpq 17).
#ifdef LIBPQ_HAS_CLOSE_PREPARED
inline constexpr bool kHasClosePrepared = true;
#else
inline constexpr bool kHasClosePrepared = false;
#endif

// PQsetChunkedRowsMode: rows in several results (libpq 17).
#ifdef LIBPQ_HAS_CHUNK_MODE
inline constexpr bool kHasChunkMode = true;
#else
inline constexpr bool kHasChunkMode = false;
#endif

// SetRowReceiver(): only the bundled libpq has the patch for it.
#ifdef PG_CONDUIT_BUNDLED_LIBPQ
inline constexpr bool kReceivesRows = true;
#else
inline constexpr bool kReceivesRows = false;
#endif

// PQsendQuery() in pipeline mode, behind a Sync: only the bundled libpq has the patch for it. The
// end of its answer is that of a Sync, and each result has a NULL behind it.
inline constexpr bool kPipelinesSimple = kReceivesRows;

// Takes rows as soon as they are read: the messages that have arrived, of which the first is a
// whole DataRow, valid during the call only, and the result that describes the columns. Returns how
// many bytes it takes, of whole DataRow messages; at 0 libpq treats the first as it would without a
// receiver. It may only ask libpq about the result and about parameters of the session.
using RowReceiver = int (*)(void* argument, const PGresult* result, const char* messages,
                            int length);

// Rows go to `receiver`, and not into results, whose rows are none then. Nothing without
// kReceivesRows.
inline void SetRowReceiver([[maybe_unused]] PGconn* connection,
                           [[maybe_unused]] RowReceiver receiver, [[maybe_unused]] void* argument) {
#ifdef PG_CONDUIT_BUNDLED_LIBPQ
  pg_conduit_receive_rows(connection, receiver, argument);
#endif
}

// SendKnown(): only the bundled libpq has the patch for it.
inline constexpr bool kOmitsDescribe = kReceivesRows;

// PQsendQueryPrepared() without a Describe, for who knows whether the statement returns rows, and
// with which columns: its result has none, and the receiver gets the rows. Always 0 without
// kOmitsDescribe, where nothing is queued.
inline int SendKnown([[maybe_unused]] PGconn* connection, [[maybe_unused]] const char* statement,
                     [[maybe_unused]] int count, [[maybe_unused]] const char* const* values,
                     [[maybe_unused]] const int* lengths, [[maybe_unused]] const int* formats,
                     [[maybe_unused]] int result_format, [[maybe_unused]] bool returns_rows) {
#ifdef PG_CONDUIT_BUNDLED_LIBPQ
  return pg_conduit_send_known(connection, statement, count, values, lengths, formats,
                               result_format, returns_rows ? 1 : 0);
#else
  return 0;
#endif
}

// The rows of the query that is being answered come in results of this many rows. To be called
// before the first of them is parsed; without kHasChunkMode all rows come in one result.
inline void SetChunkedRows([[maybe_unused]] PGconn* connection, [[maybe_unused]] int rows) {
#ifdef LIBPQ_HAS_CHUNK_MODE
  PQsetChunkedRowsMode(connection, rows);
#endif
}

// The same, but never with all rows in one result, even if each row takes a result of its own.
inline void SetStreamedRows(PGconn* connection, [[maybe_unused]] int rows) {
#ifdef LIBPQ_HAS_CHUNK_MODE
  PQsetChunkedRowsMode(connection, rows);
#else
  PQsetSingleRowMode(connection);
#endif
}

// PQcancelStart and related calls: cancel without blocking (libpq 17).
#ifdef LIBPQ_HAS_ASYNC_CANCEL
inline constexpr bool kHasAsyncCancel = true;
#else
inline constexpr bool kHasAsyncCancel = false;
#endif

// ErrorWaits(): only the bundled libpq gives access to its state.
#ifdef PG_CONDUIT_BUNDLED_LIBPQ
inline constexpr bool kSeesCopyErrors = true;
#else
inline constexpr bool kSeesCopyErrors = false;
#endif

// Whether the server has sent an error while COPY data are being sent to it. libpq passes it on
// only when the data have ended.
inline bool ErrorWaits([[maybe_unused]] const PGconn* connection) {
#ifdef PG_CONDUIT_BUNDLED_LIBPQ
  return pg_conduit_error_waits(connection) != 0;
#else
  return false;
#endif
}

// SyncWaits(): see kSeesCopyErrors.
inline constexpr bool kPlacesNotices = kSeesCopyErrors;

// Whether the notice that is being received stands behind a Sync that was not fetched yet: libpq
// reads notices ahead. Without kPlacesNotices that is not known.
inline bool SyncWaits([[maybe_unused]] const PGconn* connection) {
#ifdef PG_CONDUIT_BUNDLED_LIBPQ
  return pg_conduit_sync_waits(connection) != 0;
#else
  return false;
#endif
}

// The names of the parameters that the server has reported last, up to `count` of them, the last
// one first; returns how many. They belong to libpq. None without kSeesCopyErrors.
inline int LastParameters([[maybe_unused]] const PGconn* connection,
                          [[maybe_unused]] const char** names, [[maybe_unused]] int count) {
#ifdef PG_CONDUIT_BUNDLED_LIBPQ
  return pg_conduit_last_parameters(connection, names, count);
#else
  return 0;
#endif
}

// How many iterations a server may request in a SCRAM exchange, 0 for no limit, in the next calls
// of PQconnectPoll() by this thread. A system libpq has no such limit.
inline void LimitScram([[maybe_unused]] int iterations) {
#ifdef PG_CONDUIT_BUNDLED_LIBPQ
  pg_conduit_limit_scram(iterations);
#endif
}

// OpenSSL's result of the verification of the certificate that this thread has refused last, 0 if
// it is not known. To be called right behind the PQconnectPoll() that failed.
inline int CertificateResult() {
#ifdef PG_CONDUIT_BUNDLED_LIBPQ
  return pg_conduit_verify_result();
#else
  return 0;
#endif
}

// Queues a Sync. Before libpq 17 this also flushes, one write for each Sync.
inline bool SendPipelineSync(PGconn* connection) {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
  return PQsendPipelineSync(connection) == 1;
#else
  return PQpipelineSync(connection) == 1;
#endif
}

// Queues a Close of a prepared statement. Always false without kHasClosePrepared, where nothing is
// queued: the caller sends DEALLOCATE instead.
inline bool SendClosePrepared([[maybe_unused]] PGconn* connection,
                              [[maybe_unused]] const char* name) {
#ifdef LIBPQ_HAS_CLOSE_PREPARED
  return PQsendClosePrepared(connection, name) == 1;
#else
  return false;
#endif
}

// Why this libpq (a number as PQlibVersion returns it) must not be used, or nullptr
// if it may. The shared library found at run time may be older than the headers.
// scripts/find-libpq.js applies the same rule before it compiles.
inline const char* RefusedLibpqVersion(int version) {
  if (version < 140000) {
    return "libpq is older than 14 and has no pipeline mode: install libpq 14.11 or "
           "later, or build pg-conduit with its bundled libpq";
  }
  if (version < 140011) {
    return "libpq 14.0 to 14.10 have bugs in pipeline mode: install 14.11 or later, "
           "or build pg-conduit with its bundled libpq";
  }
  if (version >= 150000 && version < 150006) {
    return "libpq 15.0 to 15.5 have bugs in pipeline mode: install 15.6 or later, or "
           "build pg-conduit with its bundled libpq";
  }
  if (version >= 160000 && version < 160002) {
    return "libpq 16.0 and 16.1 have bugs in pipeline mode: install 16.2 or later, or "
           "build pg-conduit with its bundled libpq";
  }
  return nullptr;
}

}  // namespace pg_conduit
