// SPDX-License-Identifier: MIT

/** As names_libc.c, for libdl.so.2, which glibc had until 2.33 and still has in name. */

void dlopen(void), dlsym(void), dlclose(void);
void dlopen(void) {}
void dlsym(void) {}
void dlclose(void) {}
