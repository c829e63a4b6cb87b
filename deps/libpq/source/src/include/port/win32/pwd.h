/*
 * src/include/port/win32/pwd.h
 */
