// SPDX-License-Identifier: MIT

/**
 * What stands for libc when the recorder is linked: nothing but the names that it may take from
 * there, with the versions that they had in glibc 2.28 (arch/<machine>/libc.map). So one recorder
 * serves that glibc, all later ones, and musl, whichever was there when it was built.
 *
 * dlopen and its kin were in libdl.so.2 up to 2.33, with the same versions. They are weak: not every
 * program loads that, and one that has no such file must start all the same.
 */

void *__environ, *environ;
void dl_iterate_phdr(void), __errno_location(void);
void dlopen(void), dlsym(void), dlclose(void), __cxa_atexit(void);
void dl_iterate_phdr(void) {}
void __errno_location(void) {}
void dlopen(void) {}
void dlsym(void) {}
void dlclose(void) {}
void __cxa_atexit(void) {}
