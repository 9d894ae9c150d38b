// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>

/**
 * A function of the loaded objects by its name, read from their own tables: for a C library whose
 * dlsym is in another file that nobody has loaded (glibc before 2.34). NULL: nobody but `ours`
 * defines it. Never from a signal handler: it takes the loader's lock.
 */
void *lookup_function(const char *name, const void *ours);

/** True if the loaded object that `function` is of also defines a function of that name. */
bool lookup_is_beside(const void *function, const char *name);

/** A function of an object that lies in memory as its file, from its ELF header on. NULL: none. */
void *lookup_in_image(const void *image, const char *name);
