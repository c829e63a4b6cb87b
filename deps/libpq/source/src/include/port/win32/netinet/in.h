/* src/include/port/win32/netinet/in.h */

#include <sys/socket.h>
