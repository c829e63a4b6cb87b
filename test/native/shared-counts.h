/* Counts of a library that stands before libc (LD_PRELOAD), in a file that is mapped into memory,
   so that they can be read from outside, and from JavaScript, at any time. Included by
   count-syscalls.c and by the bench's count-allocations.c. */
#ifndef SHARED_COUNTS_H
#define SHARED_COUNTS_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file that the environment names, mapped; or else what is given. */
static _Atomic uint64_t* MapCounts(const char* variable, _Atomic uint64_t* otherwise, size_t size) {
  const char* file = getenv(variable);
  if (file == NULL) return otherwise;
  const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return otherwise;
  _Atomic uint64_t* counts = otherwise;
  if (ftruncate(fd, (off_t)size) == 0) {
    void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) counts = memory;
  }
  close(fd);
  return counts;
}

#endif
