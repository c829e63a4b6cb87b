// Owners of what libpq allocates. Nothing else in src/ calls PQclear, PQfinish
// or PQfreemem.
#pragma once

#include <libpq-fe.h>

#include <memory>

namespace pg_conduit {

struct ConnDeleter {
  void operator()(PGconn* conn) const { PQfinish(conn); }
};
struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
struct FreeMemDeleter {
  void operator()(void* memory) const { PQfreemem(memory); }
};
struct ConninfoDeleter {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

#ifdef LIBPQ_HAS_ASYNC_CANCEL
struct CancelDeleter {
  void operator()(PGcancelConn* cancel) const { PQcancelFinish(cancel); }
};
using CancelPtr = std::unique_ptr<PGcancelConn, CancelDeleter>;
#else
struct CancelDeleter {
  void operator()(PGcancel* cancel) const { PQfreeCancel(cancel); }
};
using CancelPtr = std::unique_ptr<PGcancel, CancelDeleter>;
#endif

using ConnPtr = std::unique_ptr<PGconn, ConnDeleter>;
using ResultPtr = std::unique_ptr<PGresult, ResultDeleter>;
using CopyDataPtr = std::unique_ptr<char, FreeMemDeleter>;
using NotifyPtr = std::unique_ptr<PGnotify, FreeMemDeleter>;
using ConninfoPtr = std::unique_ptr<PQconninfoOption, ConninfoDeleter>;

}  // namespace pg_conduit
