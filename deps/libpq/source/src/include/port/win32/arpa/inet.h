/* src/include/port/win32/arpa/inet.h */

#include <sys/socket.h>
