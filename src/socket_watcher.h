// A uv_poll_t on libpq's socket. libpq owns the descriptor; this class owns the handle, which lives
// on the heap until libuv's close callback has run. Used by Connector, Pipeline and Cancel.
#pragma once

#include <uv.h>

#include <cstddef>
#include <memory>

namespace pg_conduit {

// Counts the libuv handles of one environment, so that its teardown can wait
// until the last close callback has run.
struct HandleCount {
  size_t open = 0;
  void (*on_none)(void*) = nullptr;
  void* argument = nullptr;

  void Opened() { ++open; }
  void Closed() {
    if (--open == 0 && on_none != nullptr) on_none(argument);
  }
};

class SocketWatcher {
 public:
  class Owner {
   public:
    // `status` < 0: libuv has already stopped the watcher.
    virtual void OnSocketEvent(int status, int events) = 0;

   protected:
    ~Owner() = default;
  };

  // Null if libuv refuses the descriptor. `loop_ref`: whether the handle keeps the event loop
  // alive.
  static std::unique_ptr<SocketWatcher> Create(uv_loop_t* loop, HandleCount* handles, int fd,
                                               Owner* owner, bool loop_ref);
  ~SocketWatcher();
  SocketWatcher(const SocketWatcher&) = delete;
  SocketWatcher& operator=(const SocketWatcher&) = delete;

  int fd() const { return fd_; }
  // False if libuv could not arm the handle.
  bool Watch(int events);
  void SetLoopRef(bool loop_ref);

 private:
  struct Handle;
  SocketWatcher(Handle* handle, int fd) : handle_(handle), fd_(fd) {}

  Handle* handle_;  // freed in its close callback
  int fd_;
  int events_ = 0;
};

// The address family of a socket, such as AF_UNIX; -1 on Windows, where Node.js takes no socket by
// its number.
int SocketFamily(int fd);
// Another descriptor of the same socket, for the caller to close; -1 if there is none.
int DuplicateSocket(int fd);
// A new socket that is connected to nothing; -1 if none can be opened.
int OpenUnconnected(int family);
// Keepalives of a TCP socket, the first after so many idle seconds; 0: that is not changed. What
// the system refuses stays as it was.
void SetKeepAlive(int fd, bool enable, int idle_seconds);

}  // namespace pg_conduit
