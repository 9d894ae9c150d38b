// SPDX-License-Identifier: MIT
/*
 * Takes the place of libc when the recorder is linked: defines only the names that the recorder
 * uses, with their versions in glibc 2.28 (arch/<machine>/libc.map). So one recorder works with
 * that glibc, all later ones, and musl, whichever it was built with.
 */

void *__environ, *environ;
void dl_iterate_phdr(void), __errno_location(void);
void __cxa_atexit(void), __register_atfork(void);
void dl_iterate_phdr(void) {}
void __errno_location(void) {}
void __cxa_atexit(void) {}
void __register_atfork(void) {}
