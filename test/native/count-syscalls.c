/* Counts what a process reads from and writes to its sockets, by standing before
   libc's functions (LD_PRELOAD). The counts are in the memory-mapped file that
   CONDUIT_SYSCALLS_FILE names, as five 64-bit integers that can be read at any time:
   calls that write, calls that read, bytes written, bytes read, waits of the event
   loop. Built and used by syscalls.test.js. */
#define _GNU_SOURCE
#include "shared-counts.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITES, READS, BYTES_WRITTEN, BYTES_READ, WAITS, COUNTS };

static _Atomic uint64_t unused[COUNTS];
static _Atomic uint64_t *counts = unused;

__attribute__((constructor)) static void Map(void) {
  counts = MapCounts("CONDUIT_SYSCALLS_FILE", unused, sizeof(unused));
}

/* Standard streams may be sockets too: Node's pipes are. */
static int IsSocket(int fd) {
  struct stat status;
  return fd > 2 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

static void Count(int what, int fd, ssize_t result) {
  if (!IsSocket(fd)) return;
  atomic_fetch_add(&counts[what], 1);
  if (result > 0) atomic_fetch_add(&counts[what + BYTES_WRITTEN], (uint64_t)result);
}

#define REAL(name) \
  static __typeof__(name) *real; \
  if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t send(int fd, const void *data, size_t size, int flags) {
  REAL(send);
  const ssize_t result = real(fd, data, size, flags);
  Count(WRITES, fd, result);
  return result;
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *address,
               socklen_t length) {
  REAL(sendto);
  const ssize_t result = real(fd, data, size, flags, address, length);
  Count(WRITES, fd, result);
  return result;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  REAL(sendmsg);
  const ssize_t result = real(fd, message, flags);
  Count(WRITES, fd, result);
  return result;
}

ssize_t write(int fd, const void *data, size_t size) {
  REAL(write);
  const ssize_t result = real(fd, data, size);
  Count(WRITES, fd, result);
  return result;
}

ssize_t writev(int fd, const struct iovec *vector, int count) {
  REAL(writev);
  const ssize_t result = real(fd, vector, count);
  Count(WRITES, fd, result);
  return result;
}

ssize_t recv(int fd, void *data, size_t size, int flags) {
  REAL(recv);
  const ssize_t result = real(fd, data, size, flags);
  Count(READS, fd, result);
  return result;
}

ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags) {
  if (size > room) abort();
  return recv(fd, data, size, flags);
}

ssize_t recvfrom(int fd, void *data, size_t size, int flags, struct sockaddr *address,
                 socklen_t *length) {
  REAL(recvfrom);
  const ssize_t result = real(fd, data, size, flags, address, length);
  Count(READS, fd, result);
  return result;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  REAL(recvmsg);
  const ssize_t result = real(fd, message, flags);
  Count(READS, fd, result);
  return result;
}

ssize_t read(int fd, void *data, size_t size) {
  REAL(read);
  const ssize_t result = real(fd, data, size);
  Count(READS, fd, result);
  return result;
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout) {
  REAL(epoll_wait);
  atomic_fetch_add(&counts[WAITS], 1);
  return real(fd, events, max, timeout);
}

int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout, const sigset_t *signals) {
  REAL(epoll_pwait);
  atomic_fetch_add(&counts[WAITS], 1);
  return real(fd, events, max, timeout, signals);
}
