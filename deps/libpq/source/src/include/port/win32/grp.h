/* src/include/port/win32/grp.h */
