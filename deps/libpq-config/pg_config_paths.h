/*
 * Directories compiled into the bundled libpq, in place of the file that comes
 * with its sources. libpq itself reads two: SYSCONFDIR, where the system-wide
 * pg_service.conf lies (PGSYSCONFDIR overrides it), and LOCALEDIR (unused without
 * translations).
 */
#if defined(__linux__)
/* Where Debian and Ubuntu keep it; other distributions have no common place. */
#define SYSCONFDIR "/etc/postgresql-common"
#else
#define SYSCONFDIR "/usr/local/pgsql/etc"
#endif
#define LOCALEDIR "/usr/local/pgsql/share/locale"
