/* A relay between one driver and one server on TCP: mute PORT, the server's on 127.0.0.1. It prints the
   port it listens at. After SIGUSR1 its kernel drops every packet that comes from the driver, before TCP
   sees it: nothing is acknowledged any more, and nothing said, as after a cable is cut; it prints "mute". Many
   kernels let only root do that: `mute check` fails where it may not. Ends with its standard input. Built and
   used by network-faults.test.js. */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int driver = -1;

static int DropPackets(int socket) {
  struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const struct sock_fprog program = {1, &drop};
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static void Mute(int number) {
  (void)number;
  /* What the driver has not acknowledged would be sent again, and be a sign of life. */
  int left = 1;
  while (ioctl(driver, SIOCOUTQ, &left) == 0 && left > 0) usleep(1000);
  if (DropPackets(driver) != 0) _exit(2);
  if (write(1, "mute\n", 5) != 5) _exit(2);
}

static void Pass(int from, int to) {
  char bytes[65536];
  const ssize_t size = read(from, bytes, sizeof(bytes));
  if (size <= 0) exit(0);
  for (ssize_t at = 0; at < size;) {
    const ssize_t written = write(to, bytes + at, (size_t)(size - at));
    if (written < 0) exit(0);
    at += written;
  }
}

int main(int argc, char **argv) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof(address);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  if (argc == 2 && strcmp(argv[1], "check") == 0) return DropPackets(server) != 0;
  if (argc != 2 || bind(listener, (struct sockaddr *)&address, length) != 0) return 1;
  if (listen(listener, 1) != 0) return 1;
  getsockname(listener, (struct sockaddr *)&address, &length);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  address.sin_port = htons((uint16_t)atoi(argv[1]));
  driver = accept(listener, NULL, NULL);
  if (driver < 0 || connect(server, (struct sockaddr *)&address, length) != 0) return 1;
  struct sigaction action = {.sa_handler = Mute, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  struct pollfd sides[3] = {{driver, POLLIN, 0}, {server, POLLIN, 0}, {0, POLLIN, 0}};
  for (;;) {
    if (poll(sides, 3, -1) < 0) continue; /* the signal */
    if (sides[0].revents != 0) Pass(driver, server);
    if (sides[1].revents != 0) Pass(server, driver);
    if (sides[2].revents != 0) return 0;
  }
}
