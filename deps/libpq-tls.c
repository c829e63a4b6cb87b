/*
 * fe-secure-openssl.c of libpq, which tells that a certificate could not be verified, and
 * not why: the session that knows it is freed before libpq's caller could ask. Compiled
 * into the bundled libpq in place of that file; src/capabilities.h declares the question,
 * and with a system libpq there is no answer.
 */
#define SSL_free pg_conduit_ssl_free
#include "fe-secure-openssl.c"
#undef SSL_free

int pg_conduit_verify_result(void);

extern void SSL_free(SSL *ssl);

/* Of the session that this thread has freed last. */
static _Thread_local int verify_result = X509_V_OK;

/* Declared as SSL_free by OpenSSL's header. */
void pg_conduit_ssl_free(SSL *ssl) {
  if (ssl != NULL) verify_result = (int)SSL_get_verify_result(ssl);
  SSL_free(ssl);
}

int pg_conduit_verify_result(void) { return verify_result; }
