/*
 * A network with latency: whatever comes is passed on after a fixed time, in both directions of each
 * connection. Built and run by relay.js:
 *
 *   relay HOST PORT DELAY_MICROS
 *
 * HOST is an IPv4 address or the folder of a unix socket. The relay listens on a free port of 127.0.0.1,
 * which it prints. It runs until its stdin ends, and then prints as JSON how busy it was and how late:
 * a relay that is the bottleneck would measure itself. Linux only, for its timers.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { kPieceBytes = 1 << 16, kEvents = 256, kLateSlots = 100000 };
static const int64_t kWindowNanos = 500 * 1000000LL;

typedef struct Pair Pair;

/* Without bytes it is the end. */
typedef struct Piece {
  struct Piece* next;
  struct End* to;
  int64_t due;
  size_t size, written;
  char bytes[];
} Piece;

/* One of the two sockets of a pair. */
typedef struct End {
  int fd;
  Pair* pair;
  struct End* other;
  int has_ended;                 /* nothing comes from it any more */
  int is_watched;                /* in epoll */
  Piece *blocked, *blocked_last; /* due, and not taken by the kernel yet */
} End;

struct Pair {
  End ends[2];
  int ends_passed, is_closed;
  int pieces; /* that refer to it */
  Pair* next; /* of those that are closed */
};

static int epoll, timer, listener;
static int64_t delay;
static const char* host;
static int port;
/* All have the same delay, so one queue is in the order in which they are due. */
static Piece *first, *last;
static Pair* closed;

static long late[kLateSlots]; /* by microseconds */
static long passed;
static double busiest;

static void Fail(const char* what) {
  perror(what);
  exit(1);
}

static int64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void MeasureCpu(int64_t now) {
  static int64_t since;
  static double cpu_before;
  if (since != 0 && now - since < kWindowNanos) return;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double cpu = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
               (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
  double part = (cpu - cpu_before) / (now - since);
  if (since != 0 && part > busiest) busiest = part;
  since = now;
  cpu_before = cpu;
}

static void Watch(int operation, int fd, uint32_t events, void* data) {
  struct epoll_event event = {.events = events, .data.ptr = data};
  if (epoll_ctl(epoll, operation, fd, &event) != 0) Fail("epoll_ctl");
}

static void Drop(Piece* piece) {
  piece->to->pair->pieces--;
  free(piece);
}

static void Close(Pair* pair) {
  if (pair->is_closed) return;
  pair->is_closed = 1;
  pair->next = closed;
  closed = pair;
  for (int i = 0; i < 2; i++) {
    close(pair->ends[i].fd);
    Piece* piece = pair->ends[i].blocked;
    pair->ends[i].blocked = NULL;
    while (piece != NULL) {
      Piece* next = piece->next;
      Drop(piece);
      piece = next;
    }
  }
}

/* Between two rounds of events: before that one of them may refer to the pair. */
static void FreeClosed(void) {
  for (Pair** place = &closed; *place != NULL;) {
    Pair* pair = *place;
    if (pair->pieces > 0) {
      place = &pair->next;
    } else {
      *place = pair->next;
      free(pair);
    }
  }
}

/* Returns 0 if the kernel takes no more of it for now. */
static int Write(Piece* piece) {
  End* to = piece->to;
  if (piece->size == 0) {
    shutdown(to->fd, SHUT_WR);
    if (++to->pair->ends_passed == 2) Close(to->pair);
    return 1;
  }
  while (piece->written < piece->size) {
    ssize_t count = send(to->fd, piece->bytes + piece->written, piece->size - piece->written,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      piece->written += count;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    } else if (errno != EINTR) {
      Close(to->pair);
      return 1;
    }
  }
  return 1;
}

/* A socket that has ended is told of for ever, whatever was asked for: only outside of epoll it keeps quiet. */
static void WatchAgain(End* end) {
  uint32_t events = (end->has_ended ? 0 : EPOLLIN) | (end->blocked != NULL ? EPOLLOUT : 0);
  int operation = events == 0 ? EPOLL_CTL_DEL : end->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (events != 0 || end->is_watched) Watch(operation, end->fd, events, end);
  end->is_watched = events != 0;
}

static void Pass(Piece* piece) {
  End* to = piece->to;
  piece->next = NULL;
  if (to->pair->is_closed) {
    Drop(piece);
  } else if (to->blocked != NULL) {
    to->blocked_last = to->blocked_last->next = piece;
  } else if (Write(piece)) {
    Drop(piece);
  } else {
    to->blocked = to->blocked_last = piece;
    WatchAgain(to);
  }
}

static void PassBlocked(End* to) {
  Pair* pair = to->pair;
  while (!pair->is_closed && to->blocked != NULL) {
    Piece* piece = to->blocked;
    if (!Write(piece)) return;
    if (pair->is_closed) return; /* it was dropped with the others */
    to->blocked = piece->next;
    Drop(piece);
  }
  if (!pair->is_closed) WatchAgain(to);
}

static void PassDue(void) {
  int64_t now = Now();
  while (first != NULL && first->due <= now) {
    Piece* piece = first;
    first = piece->next;
    int64_t micros = (now - piece->due) / 1000;
    late[micros < kLateSlots ? micros : kLateSlots - 1]++;
    passed++;
    Pass(piece);
  }
  struct itimerspec when = {0};
  if (first != NULL) {
    when.it_value.tv_sec = first->due / 1000000000LL;
    when.it_value.tv_nsec = first->due % 1000000000LL;
  }
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void Take(End* from) {
  static char bytes[kPieceBytes];
  ssize_t count = recv(from->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) Close(from->pair);
    return;
  }
  Piece* piece = malloc(sizeof(Piece) + count);
  if (piece == NULL) Fail("malloc");
  *piece = (Piece){.to = from->other, .due = Now() + delay, .size = count};
  memcpy(piece->bytes, bytes, count);
  from->pair->pieces++;
  if (count == 0) {
    from->has_ended = 1;
    WatchAgain(from);
  }
  if (first == NULL) {
    first = last = piece;
  } else {
    last = last->next = piece;
  }
}

static int Connect(void) {
  int fd, result;
  if (host[0] == '/') {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGSQL.%d", host, port);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    result = connect(fd, (struct sockaddr*)&address, sizeof(address));
  } else {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) return -1;
    fd = socket(AF_INET, SOCK_STREAM, 0);
    result = connect(fd, (struct sockaddr*)&address, sizeof(address));
  }
  if (result == 0) return fd;
  close(fd);
  return -1;
}

static void Accept(void) {
  int client = accept(listener, NULL, NULL);
  if (client < 0) return;
  int server = Connect();
  if (server < 0) {
    close(client);
    return;
  }
  Pair* pair = calloc(1, sizeof(Pair));
  if (pair == NULL) Fail("calloc");
  const int fds[] = {client, server}, on = 1;
  for (int i = 0; i < 2; i++) {
    End* end = &pair->ends[i];
    end->fd = fds[i];
    end->pair = pair;
    end->other = &pair->ends[1 - i];
    setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* a unix socket has none */
    WatchAgain(end);
  }
}

static void Listen(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof(address);
  listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&address, size) != 0) Fail("bind");
  if (listen(listener, 512) != 0) Fail("listen");
  getsockname(listener, (struct sockaddr*)&address, &size);
  printf("{\"port\": %d}\n", ntohs(address.sin_port));
  fflush(stdout);
}

static void Report(void) {
  long left = passed - passed / 100;
  int micros = 0;
  while (micros < kLateSlots - 1 && (left -= late[micros]) > 0) micros++;
  printf("{\"busiestPart\": %.3f, \"lateMillis\": %.3f, \"passed\": %ld}\n", busiest,
         micros / 1000.0, passed);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "relay HOST PORT DELAY_MICROS\n");
    return 2;
  }
  host = argv[1];
  port = atoi(argv[2]);
  delay = atoll(argv[3]) * 1000;
  epoll = epoll_create1(0);
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  Listen();
  Watch(EPOLL_CTL_ADD, listener, EPOLLIN, &listener);
  Watch(EPOLL_CTL_ADD, timer, EPOLLIN, &timer);
  int input = STDIN_FILENO;
  Watch(EPOLL_CTL_ADD, input, EPOLLIN, &input);

  struct epoll_event events[kEvents];
  for (;;) {
    int count = epoll_wait(epoll, events, kEvents, -1);
    if (count < 0 && errno != EINTR) Fail("epoll_wait");
    MeasureCpu(Now());
    for (int i = 0; i < count; i++) {
      void* data = events[i].data.ptr;
      if (data == &timer) {
        uint64_t times;
        if (read(timer, &times, sizeof(times)) < 0 && errno != EAGAIN) Fail("read");
      } else if (data == &listener) {
        Accept();
      } else if (data == &input) {
        Report();
        return 0;
      } else {
        End* end = data;
        if (!end->pair->is_closed && events[i].events & ~EPOLLIN) PassBlocked(end);
        if (!end->pair->is_closed && !end->has_ended && events[i].events & ~EPOLLOUT) Take(end);
      }
    }
    PassDue();
    FreeClosed();
  }
}
