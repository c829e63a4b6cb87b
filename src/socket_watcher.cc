// See socket_watcher.h.
#include "socket_watcher.h"

#ifndef _WIN32
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#endif

namespace pg_conduit {

struct SocketWatcher::Handle {
  uv_poll_t poll;
  HandleCount* handles;
  Owner* owner;  // null once the watcher is gone
};

std::unique_ptr<SocketWatcher> SocketWatcher::Create(uv_loop_t* loop, HandleCount* handles, int fd,
                                                     Owner* owner, bool loop_ref) {
  auto handle = std::make_unique<Handle>();
  handle->handles = handles;
  handle->owner = owner;
  handle->poll.data = handle.get();
  // On Windows PQsocket is a SOCKET; elsewhere uv_poll_init() would do the same.
  if (uv_poll_init_socket(loop, &handle->poll, static_cast<uv_os_sock_t>(fd)) != 0) return nullptr;
  handles->Opened();
  std::unique_ptr<SocketWatcher> watcher(new SocketWatcher(handle.release(), fd));
  watcher->SetLoopRef(loop_ref);
  return watcher;
}

SocketWatcher::~SocketWatcher() {
  handle_->owner = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&handle_->poll), [](uv_handle_t* closed) {
    std::unique_ptr<Handle> handle(static_cast<Handle*>(closed->data));
    handle->handles->Closed();
  });
}

bool SocketWatcher::Watch(int events) {
  if (events == events_) return true;
  const int result =
      uv_poll_start(&handle_->poll, events, [](uv_poll_t* poll, int status, int ready) {
        Owner* owner = static_cast<Handle*>(poll->data)->owner;
        if (owner != nullptr) owner->OnSocketEvent(status, ready);
      });
  events_ = result == 0 ? events : 0;
  return result == 0;
}

void SocketWatcher::SetLoopRef(bool loop_ref) {
  auto* handle = reinterpret_cast<uv_handle_t*>(&handle_->poll);
  if (loop_ref) {
    uv_ref(handle);
  } else {
    uv_unref(handle);
  }
}

#ifdef _WIN32

int SocketFamily(int /*fd*/) { return -1; }

int DuplicateSocket(int /*fd*/) { return -1; }

int OpenUnconnected(int /*family*/) { return -1; }

void SetKeepAlive(int /*fd*/, bool /*enable*/, int /*idle_seconds*/) {}

#else

int SocketFamily(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  const int result = getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  return result == 0 ? address.ss_family : -1;
}

int DuplicateSocket(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

int OpenUnconnected(int family) {
  const int fd = socket(family, SOCK_STREAM, 0);
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

void SetKeepAlive(int fd, bool enable, int idle_seconds) {
  const int is_enabled = enable ? 1 : 0;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &is_enabled, sizeof(is_enabled));
#ifdef TCP_KEEPIDLE
  constexpr int kIdleOption = TCP_KEEPIDLE;
#else
  constexpr int kIdleOption = TCP_KEEPALIVE;
#endif
  if (enable && idle_seconds > 0) {
    setsockopt(fd, IPPROTO_TCP, kIdleOption, &idle_seconds, sizeof(idle_seconds));
  }
}

#endif

}  // namespace pg_conduit
