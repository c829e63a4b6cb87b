/*
 * fe-auth-scram.c of libpq, with a limit for the work that a server may ask for: it
 * names the iterations of a hash that this side must compute, in one piece, before
 * it knows anything of the server. Compiled into the bundled libpq in place of
 * that file; src/capabilities.h declares the limit, and a system libpq has none.
 */
#define scram_SaltedPassword pg_conduit_salted_password
#include "fe-auth-scram.c"
#undef scram_SaltedPassword

void pg_conduit_limit_scram(int iterations);

/* Of the thread that connects; 0: no limit. */
static _Thread_local int max_iterations = 0;
static _Thread_local char refusal[128];

void pg_conduit_limit_scram(int iterations) { max_iterations = iterations; }

extern int scram_SaltedPassword(const char *password, pg_cryptohash_type hash_type, int key_length,
                                const uint8 *salt, int saltlen, int iterations, uint8 *result,
                                const char **errstr);

int pg_conduit_salted_password(const char *password, pg_cryptohash_type hash_type, int key_length,
                               const uint8 *salt, int saltlen, int iterations, uint8 *result,
                               const char **errstr) {
  if (max_iterations > 0 && iterations > max_iterations) {
    snprintf(refusal, sizeof(refusal), "iteration count %d exceeds scramMaxIterations of %d",
             iterations, max_iterations);
    *errstr = refusal;
    return -1;
  }
  return scram_SaltedPassword(password, hash_type, key_length, salt, saltlen, iterations, result,
                              errstr);
}
