// The encoding of a session, which must be UTF-8: in another one the server would convert all
// texts, and JavaScript would misread them. Asked by Connector when a session begins, and by
// Pipeline behind each result.
#pragma once

#include <libpq-fe.h>

namespace pg_conduit {

constexpr char kOtherEncoding[] =
    "the server's client_encoding is not UTF8 any more, and texts would be misread on both sides: "
    "leave it as it is";

// False when the session has another client_encoding. A server that reports none is trusted.
bool SpeaksUtf8(const PGconn* conn);

}  // namespace pg_conduit
