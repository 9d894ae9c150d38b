// SPDX-License-Identifier: MIT

/**
 * What stands for libc when the recorder is linked: nothing but the names that it may take from
 * there, with the versions that they had in glibc 2.28 (arch/<machine>/libc.map). So one recorder
 * serves that glibc, all later ones, and musl, whichever was there when it was built.
 */

void *__environ, *environ;
void dl_iterate_phdr(void), __errno_location(void);
void __cxa_atexit(void);
void dl_iterate_phdr(void) {}
void __errno_location(void) {}
void __cxa_atexit(void) {}
