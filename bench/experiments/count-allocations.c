/* Counts what a process allocates, by standing before glibc's malloc() and its kin (LD_PRELOAD): in
   the file that CONDUIT_ALLOCATIONS_FILE names, as two 64-bit integers, the number of allocations
   and the bytes that they asked for. What is freed is not looked at. Built and used by
   allocations.js. */
#include <errno.h>

#include "shared-counts.h"

enum { CALLS, BYTES, COUNTS };

static _Atomic uint64_t unused[COUNTS];
static _Atomic uint64_t* counts = unused;

__attribute__((constructor)) static void Map(void) {
  counts = MapCounts("CONDUIT_ALLOCATIONS_FILE", unused, sizeof(unused));
}

static void Count(size_t size) {
  atomic_fetch_add_explicit(&counts[CALLS], 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&counts[BYTES], size, memory_order_relaxed);
}

/* Looking them up by dlsym() would itself allocate. */
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  Count(size);
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  Count(count * size);
  return __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
  Count(size);
  return __libc_realloc(memory, size);
}

void* memalign(size_t alignment, size_t size) {
  Count(size);
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* found = memalign(alignment, size);
  if (found == NULL) return ENOMEM;
  *memory = found;
  return 0;
}
