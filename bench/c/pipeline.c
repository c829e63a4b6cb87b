/*
 * The limit: what a C program on libpq's pipeline mode reaches on one connection, with the same
 * policy of Sync messages. Built and run by limit.js:
 *
 *   pipeline CONNINFO select|insert TEXT ROWS IN_FLIGHT BURST PER_SYNC WARMUP_MS MEASURE_MS
 *
 * A select has one parameter, a random id, or ROWS when that is not 0; an insert has two. Answers
 * are checked as the JavaScript workloads check them. The result goes to stdout, as JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { kIds = 10000, kInt4 = 23, kMaxInFlight = 65536 };

static PGconn* conn;
static int is_insert, rows, in_flight, burst, per_sync;

/* Ids that were asked for, in the order in which they are answered. */
static uint32_t asked[kMaxInFlight];
static uint32_t asked_head, asked_tail;
static int waiting;        /* queries sent and not answered */
static int since_sync;     /* queries sent after the last Sync */
static int expected_syncs; /* Syncs sent and not answered */
static int unconfirmed;    /* queries answered whose Sync is not */
static long long inserted, inserted_sum, answered;
static unsigned long long cells; /* keeps the compiler from dropping the reads */

static void Fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, conn == NULL ? "" : PQerrorMessage(conn));
  exit(1);
}

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static double CpuMicros(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}

static uint32_t Random(void) {
  static uint32_t state = 20240101;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static void Sync(void) {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
  if (PQsendPipelineSync(conn) != 1) Fail("Sync");
#else
  if (PQpipelineSync(conn) != 1) Fail("Sync"); /* before libpq 17: with a flush each */
#endif
  expected_syncs++;
  since_sync = 0;
}

static void SendOne(void) {
  uint32_t first, second;
  const char* values[2] = {(const char*)&first, (const char*)&second};
  const int lengths[2] = {4, 4};
  const int formats[2] = {1, 1};
  uint32_t id;
  if (is_insert) {
    id = (uint32_t)++inserted;
    inserted_sum += id % 1000;
    second = htonl(id % 1000);
  } else {
    id = rows > 0 ? (uint32_t)rows : 1 + Random() % kIds;
  }
  first = htonl(id);
  asked[asked_tail++ % kMaxInFlight] = id;
  if (PQsendQueryPrepared(conn, "s", is_insert ? 2 : 1, values, lengths, formats, 1) != 1) {
    Fail("Send");
  }
  waiting++;
  if (++since_sync == per_sync) Sync();
}

/* The last group may be a smaller one. */
static void Send(int count) {
  for (int i = 0; i < count; i++) SendOne();
  if (since_sync > 0) Sync();
}

static uint32_t ReadInt(const PGresult* result, int row, int column) {
  /* int4, or the lower half of an int8. */
  const int length = PQgetlength(result, row, column);
  uint32_t value;
  memcpy(&value, PQgetvalue(result, row, column) + length - 4, 4);
  return ntohl(value);
}

static void Check(const PGresult* result, uint32_t id) {
  if (is_insert) {
    if (PQresultStatus(result) != PGRES_COMMAND_OK) Fail("Insert");
    return;
  }
  if (PQresultStatus(result) != PGRES_TUPLES_OK) Fail("Select");
  const int count = PQntuples(result);
  const int columns = PQnfields(result);
  if (count != (rows > 0 ? rows : 1)) Fail("Wrong number of rows");
  for (int row = 0; row < count; row++) {
    if (ReadInt(result, row, 0) != (rows > 0 ? (uint32_t)row + 1 : id)) Fail("Wrong row");
    for (int column = 1; column < columns; column++) {
      const int length = PQgetlength(result, row, column);
      if (length > 0) cells += (unsigned char)PQgetvalue(result, row, column)[length - 1];
    }
  }
}

/* All that has arrived. Sends as many as a Sync has confirmed while `more`. */
static int Drain(int more) {
  int got = 0;
  while (expected_syncs > 0 && !PQisBusy(conn)) {
    PGresult* result = PQgetResult(conn);
    if (result == NULL) continue; /* the end of one command's results */
    got = 1;
    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
      expected_syncs--;
      /* Only a Sync tells that the transaction is committed. */
      const int group = unconfirmed;
      unconfirmed = 0;
      waiting -= group;
      answered += group;
      if (more && !burst) Send(group);
    } else {
      Check(result, asked[asked_head++ % kMaxInFlight]);
      unconfirmed++;
    }
    PQclear(result);
  }
  return got;
}

/* Until `seconds` have passed and all is answered. */
static void Run(double seconds) {
  const double deadline = Now() + seconds;
  int more = 1;
  for (;;) {
    if (more && waiting == 0) Send(in_flight);
    const int unsent = PQflush(conn);
    if (unsent < 0) Fail("Flush");
    /* Sending and flushing read too, and poll() does not announce what was read then. */
    if (Drain(more)) {
      more = Now() < deadline;
      if (!more && waiting == 0) return;
      continue;
    }
    struct pollfd fd = {PQsocket(conn), (short)(POLLIN | (unsent ? POLLOUT : 0)), 0};
    if (poll(&fd, 1, -1) < 0 && errno != EINTR) Fail("poll");
    if (PQconsumeInput(conn) != 1) Fail("Read");
    Drain(more);
    more = Now() < deadline;
    if (!more && waiting == 0) return;
  }
}

static void Execute(const char* text) {
  PGresult* result = PQexec(conn, text);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) Fail(text);
  PQclear(result);
}

/* The target of the insert is the third word of its text. */
static void CheckInserts(const char* table) {
  char text[256];
  snprintf(text, sizeof text, "select count(*), coalesce(sum(n), 0) from %s", table);
  PGresult* result = PQexec(conn, text);
  if (PQresultStatus(result) != PGRES_TUPLES_OK) Fail(text);
  if (atoll(PQgetvalue(result, 0, 0)) != inserted ||
      atoll(PQgetvalue(result, 0, 1)) != inserted_sum) {
    Fail("The table does not hold what was inserted");
  }
  PQclear(result);
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    const int version = PQlibVersion();
    printf("%d.%d\n", version / 10000, version % 10000);
    return 0;
  }
  if (argc != 10) {
    fprintf(stderr, "See the opening lines of pipeline.c\n");
    return 2;
  }
  is_insert = strcmp(argv[2], "insert") == 0;
  const char* text = argv[3];
  rows = atoi(argv[4]);
  in_flight = atoi(argv[5]);
  burst = atoi(argv[6]);
  per_sync = atoi(argv[7]);
  if (in_flight < 1 || in_flight > kMaxInFlight || per_sync < 1) {
    fprintf(stderr, "IN_FLIGHT or PER_SYNC is out of range\n");
    return 2;
  }

  conn = PQconnectdb(argv[1]);
  if (PQstatus(conn) != CONNECTION_OK) Fail("Connect");
  char table[128] = "";
  if (is_insert) {
    char truncate[160];
    sscanf(text, "%*s %*s %127s", table);
    snprintf(truncate, sizeof truncate, "truncate %s", table);
    Execute(truncate);
  }
  /* The server infers int8 for an int8 key: the parameters are declared, as they are sent. */
  const Oid types[2] = {kInt4, kInt4};
  PGresult* prepared = PQprepare(conn, "s", text, is_insert ? 2 : 1, types);
  if (PQresultStatus(prepared) != PGRES_COMMAND_OK) Fail("Prepare");
  PQclear(prepared);
  if (PQsetnonblocking(conn, 1) != 0 || PQenterPipelineMode(conn) != 1) Fail("Pipeline mode");

  Run(atof(argv[8]) / 1e3);
  answered = 0;
  const double cpu = CpuMicros();
  const double start = Now();
  Run(atof(argv[9]) / 1e3);
  const double seconds = Now() - start;
  const double micros = CpuMicros() - cpu;

  if (PQexitPipelineMode(conn) != 1 || PQsetnonblocking(conn, 0) != 0) Fail("End of pipeline mode");
  if (is_insert) CheckInserts(table);
  printf("{\"operations\": %lld, \"seconds\": %.6f, \"cpuMicros\": %.0f}\n", answered, seconds,
         micros);
  PQfinish(conn);
  return cells == 1 ? 3 : 0;
}
