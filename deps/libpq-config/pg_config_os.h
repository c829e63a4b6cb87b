/*
 * What PostgreSQL's configure script would have found out for libpq. The C files
 * in deps/libpq include it through c.h (before it: the pg_config.h that came with
 * them, which lacks what follows); deps/libpq.gyp puts this folder first.
 */
#ifndef PG_CONDUIT_PG_CONFIG_OS_H
#define PG_CONDUIT_PG_CONFIG_OS_H

/* scripts/fetch-libpq.js refuses sources of another version. */
#define PG_VERSION "18.6"
#define PG_VERSION_NUM 180006
#define PG_VERSION_STR "PostgreSQL " PG_VERSION
#define PG_MAJORVERSION "18"
#define PG_MAJORVERSION_NUM 18
#define PG_MINORVERSION_NUM 6

#if defined(_WIN32)
#include "port/win32.h"
#elif defined(__APPLE__)
#include "port/darwin.h"
#elif defined(__linux__)
#include "port/linux.h"
#else
#error "The bundled libpq supports Linux, macOS and Windows; set PG_CONDUIT_LIBPQ=system to use an installed libpq."
#endif

/* pg_config.h was made on a little-endian machine with 64-bit pointers and long. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define WORDS_BIGENDIAN 1
#endif
#if defined(_WIN32)
#undef SIZEOF_LONG
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#elif !defined(__LP64__)
#error "The bundled libpq supports 64-bit platforms; set PG_CONDUIT_LIBPQ=system to use an installed libpq."
#endif

#if !defined(_WIN32)
/* Without poll() libpq uses select(), which writes outside its fd_set, and so
 * corrupts the stack, as soon as a descriptor of 1024 or more comes along. */
#define HAVE_POLL 1
#define HAVE_POLL_H 1
/* Without it an IPv6 address in a server certificate is never matched. */
#define HAVE_INET_PTON 1
#define HAVE_INET_ATON 1
#define HAVE_MKDTEMP 1
#define HAVE_SOCKLEN_T 1
#define HAVE_STRSIGNAL 1
#define HAVE_TERMIOS_H 1
#endif

#if defined(__APPLE__)
#define HAVE_GETPEEREID 1
#define HAVE_SYS_UCRED_H 1
#endif

#if defined(__linux__)
#define HAVE_DECL_STRCHRNUL 1
#include <stdlib.h> /* defines __GLIBC__, unless this is musl */
#if !defined(__GLIBC__)
/* musl has the POSIX strerror_r() only. */
#define STRERROR_R_INT 1
#endif
#endif

/* OpenSSL 1.1.1 and later, thus every Node this package supports. */
#define HAVE_SSL_CTX_SET_KEYLOG_CALLBACK 1

#if defined(__GNUC__)
#define HAVE__BUILTIN_BSWAP16 1
#define HAVE__BUILTIN_BSWAP32 1
#define HAVE__BUILTIN_BSWAP64 1
#define HAVE__BUILTIN_CLZ 1
#define HAVE__BUILTIN_CONSTANT_P 1
#define HAVE__BUILTIN_CTZ 1
#define HAVE__BUILTIN_OP_OVERFLOW 1
#define HAVE__BUILTIN_POPCOUNT 1
#define HAVE__BUILTIN_TYPES_COMPATIBLE_P 1
#define HAVE__BUILTIN_UNREACHABLE 1
#endif

#endif /* PG_CONDUIT_PG_CONFIG_OS_H */
