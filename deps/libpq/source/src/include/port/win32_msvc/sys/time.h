/* src/include/port/win32_msvc/sys/time.h */
