/*
 * src/include/port/win32/sys/select.h
 */
