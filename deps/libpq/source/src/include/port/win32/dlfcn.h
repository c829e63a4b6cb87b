/* src/include/port/win32/dlfcn.h */
