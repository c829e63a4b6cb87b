// See cancel.h.
#include "cancel.h"

namespace pg_conduit {

void Cancel::Finish(bool ok, const char* message) {
  delivery_->PushWithText(Event::kCancelled, connection_, ok ? 1 : 0);
  delivery_->PushText(message);
  watcher_.reset();
  cancel_.reset();
}

#ifdef LIBPQ_HAS_ASYNC_CANCEL

struct Cancel::Work {};

Cancel::~Cancel() {
  // Closed before PQcancelFinish frees the descriptor.
  watcher_.reset();
}

void Cancel::Start(PGconn* conn) {
  cancel_.reset(PQcancelCreate(conn));
  if (cancel_ == nullptr) {
    Finish(false, "out of memory");
    return;
  }
  bool ok = false;
  bool started = false;
  {
    const TlsFiles::Scope scope(files_);
    ok = scope.ok();
    if (ok) started = PQcancelStart(cancel_.get()) == 1;
  }
  if (!ok) {
    Finish(false, kTlsFilesMissing);
    return;
  }
  Advance(started ? PGRES_POLLING_WRITING : PGRES_POLLING_FAILED);
}

void Cancel::OnSocketEvent(int /*status*/, int /*events*/) {
  // libpq may close its descriptor and open another one under the same number.
  watcher_.reset();
  bool ok = false;
  PostgresPollingStatusType state = PGRES_POLLING_FAILED;
  {
    // The cancel request has a TLS handshake of its own.
    const TlsFiles::Scope scope(files_);
    ok = scope.ok();
    if (ok) state = PQcancelPoll(cancel_.get());
  }
  if (!ok) {
    Finish(false, kTlsFilesMissing);
    return;
  }
  Advance(state);
}

void Cancel::Advance(PostgresPollingStatusType state) {
  switch (state) {
    case PGRES_POLLING_READING:
    case PGRES_POLLING_WRITING:
    case PGRES_POLLING_ACTIVE:
      watcher_ = SocketWatcher::Create(loop_, handles_, PQcancelSocket(cancel_.get()), this, true);
      if (watcher_ == nullptr ||
          !watcher_->Watch(state == PGRES_POLLING_READING ? UV_READABLE : UV_WRITABLE)) {
        Finish(false, "the event loop cannot watch the socket of the cancel request");
      }
      return;
    case PGRES_POLLING_FAILED:
      Finish(false, PQcancelErrorMessage(cancel_.get()));
      return;
    case PGRES_POLLING_OK:
      Finish(true, "");
      return;
  }
}

#else

// PQcancel blocks, so it runs on the thread pool. It uses no TLS and reads no files. Both sides may
// go first: the work outlives a Cancel that is destroyed, and the environment waits for it.
struct Cancel::Work {
  uv_work_t request;
  CancelPtr cancel;
  HandleCount* handles;
  Cancel* owner;  // null once the Cancel is destroyed
  bool ok;
  char message[256];
};

Cancel::~Cancel() {
  if (work_ != nullptr) work_->owner = nullptr;
}

void Cancel::Start(PGconn* conn) {
  auto work = std::make_unique<Work>();
  work->cancel.reset(PQgetCancel(conn));
  if (work->cancel == nullptr) {
    Finish(false, "the connection is gone");
    return;
  }
  work->handles = handles_;
  work->owner = this;
  work->request.data = work.get();
  const int queued = uv_queue_work(
      loop_, &work->request,
      [](uv_work_t* request) {
        auto* self = static_cast<Work*>(request->data);
        self->ok = PQcancel(self->cancel.get(), self->message, sizeof(self->message)) == 1;
      },
      [](uv_work_t* request, int) {
        const std::unique_ptr<Work> self(static_cast<Work*>(request->data));
        if (self->owner != nullptr) {
          self->owner->work_ = nullptr;
          self->owner->Finish(self->ok, self->message);
        }
        self->handles->Closed();
      });
  if (queued != 0) {
    Finish(false, uv_strerror(queued));
    return;
  }
  handles_->Opened();
  work_ = work.release();
}

void Cancel::OnSocketEvent(int /*status*/, int /*events*/) {}
void Cancel::Advance(PostgresPollingStatusType /*state*/) {}

#endif

}  // namespace pg_conduit
