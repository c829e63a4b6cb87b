/* src/include/port/win32_msvc/sys/param.h */
