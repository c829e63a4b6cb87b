// See connector.h.
#include "connector.h"

#include <openssl/x509_vfy.h>

#include <string>
#include <utility>

#include "capabilities.h"
#include "client_encoding.h"
#include "pg_error.h"

namespace pg_conduit {

Connector::~Connector() {
  // Closed before PQfinish frees the descriptor.
  watcher_.reset();
}

void Connector::Start(const std::vector<std::string>& keywords,
                      const std::vector<std::string>& values, std::shared_ptr<TlsFiles> files,
                      int max_scram_iterations) {
  files_ = std::move(files);
  max_scram_iterations_ = max_scram_iterations;
  std::vector<const char*> keyword_pointers;
  std::vector<const char*> value_pointers;
  keyword_pointers.reserve(keywords.size() + 1);
  value_pointers.reserve(values.size() + 1);
  for (const std::string& keyword : keywords) keyword_pointers.push_back(keyword.c_str());
  for (const std::string& value : values) value_pointers.push_back(value.c_str());
  keyword_pointers.push_back(nullptr);
  value_pointers.push_back(nullptr);
  Conclude(Begin(keyword_pointers.data(), value_pointers.data()));
}

Connector::Progress Connector::Begin(const char* const* keywords, const char* const* values) {
  {
    const TlsFiles::Scope scope(files_);
    if (!scope.ok()) return Fail(kTlsFilesMissing);
    conn_.reset(PQconnectStartParams(keywords, values, 0));
  }
  if (conn_ == nullptr) return Fail("out of memory");
  // The SQLSTATE of a refused connection is only in the verbose message, which
  // lib/connection/errors.js takes apart.
  PQsetErrorVerbosity(conn_.get(), PQERRORS_VERBOSE);
  PQsetNoticeReceiver(conn_.get(), ReceiveNotice, this);
  return Advance(PQstatus(conn_.get()) == CONNECTION_BAD ? PGRES_POLLING_FAILED
                                                         : PGRES_POLLING_WRITING);
}

void Connector::OnSocketEvent(int /*status*/, int /*events*/) {
  // libpq itself detects that a socket has failed: it may have other addresses.
  Conclude(Poll());
}

Connector::Progress Connector::Poll() {
  // The old handle is closed first: libpq may close its descriptor and open another one under the
  // same number, which epoll would not notice.
  watcher_.reset();
  PostgresPollingStatusType state = PGRES_POLLING_FAILED;
  {
    const TlsFiles::Scope scope(files_);
    // Without a file libpq would go on without what is in it.
    if (!scope.ok()) return Fail(kTlsFilesMissing);
    LimitScram(max_scram_iterations_);
    state = PQconnectPoll(conn_.get());
  }
  return Advance(state);
}

Connector::Progress Connector::Advance(PostgresPollingStatusType state) {
  switch (state) {
    case PGRES_POLLING_READING:
    case PGRES_POLLING_WRITING:
    case PGRES_POLLING_ACTIVE:
      watcher_ =
          SocketWatcher::Create(context_.loop, context_.handles, PQsocket(conn_.get()), this, true);
      if (watcher_ == nullptr ||
          !watcher_->Watch(state == PGRES_POLLING_READING ? UV_READABLE : UV_WRITABLE)) {
        return Fail("the event loop cannot watch the connection's socket");
      }
      return Progress::kWaiting;
    case PGRES_POLLING_FAILED:
      return Fail(FailureMessage());
    case PGRES_POLLING_OK:
      break;
  }
  if (has_unasked_) return Fail(kUnaskedAnswer);
  if (!SpeaksUtf8(conn_.get())) return Fail(kOtherEncoding);
  if (PQsetnonblocking(conn_.get(), 1) != 0 || PQenterPipelineMode(conn_.get()) != 1) {
    return Fail(PQerrorMessage(conn_.get()));
  }
  PQsetErrorVerbosity(conn_.get(), PQERRORS_DEFAULT);
  return Progress::kConnected;
}

std::string Connector::FailureMessage() const {
  std::string message = PQerrorMessage(conn_.get());
  const int result = CertificateResult();
  if (result == X509_V_OK || message.find("certificate verify failed") == std::string::npos) {
    return message;
  }
  // lib/connection/tls-errors.js reads it.
  return message + "\nCERTIFICATE:  " + std::to_string(result) + ": " +
         X509_verify_cert_error_string(result);
}

Connector::Progress Connector::Fail(std::string message) {
  failure_ = std::move(message);
  return Progress::kFailed;
}

void Connector::Conclude(Progress progress) {
  switch (progress) {
    case Progress::kWaiting:
      return;
    case Progress::kConnected:
      owner_->OnConnected(std::move(conn_), std::move(files_));
      return;
    case Progress::kFailed:
      watcher_.reset();
      conn_.reset();
      owner_->OnConnectFailed(std::move(failure_));
      return;
  }
}

void Connector::ReceiveNotice(void* connector, const PGresult* result) {
  auto* self = static_cast<Connector*>(connector);
  if (IsUnaskedAnswer(result)) {
    self->has_unasked_ = true;
    return;
  }
  self->context_.delivery->PushWithText(Event::kNotice, self->id_, kNoSlot);
  PushErrorFields(result, self->context_.delivery);
}

}  // namespace pg_conduit
