// SPDX-License-Identifier: MIT
#pragma once
/**
 * Functions of the loaded objects by their names, read from the objects' own tables.
 *
 * dlsym would do, but it discards what dlerror() is about to tell the program, allocates, frees
 * what earlier calls of it have left, and is in a library of its own before glibc 2.34. Any thread;
 * never in a signal handler, because the loader's lock is taken. `ours` is any address in this
 * library.
 */

#include <stdbool.h>

/**
 * What dlsym(RTLD_NEXT) finds from the object of `ours`, as the program's libraries are linked: a
 * definition in an object behind it that was loaded at the program's start. NULL: there is none.
 */
void *lookup_next(const char *name, const void *ours);

/** In any other object, also one that the program has loaded itself. NULL: none defines it. */
void *lookup_function(const char *name, const void *ours);

/** True if the object in which `function` lies also defines a function called `name`. */
bool lookup_is_beside(const void *function, const char *name);

/**
 * Change the symbol `name` of the object in which `from` lies: lookups that would find `from` find
 * `to` from now on. What is bound already stays.
 */
void lookup_redirect(const char *name, const void *from, const void *to);

/**
 * Hide from lookups the functions of the object of `ours` that no other object defines which was
 * loaded at the program's start, except those that stay.
 */
void lookup_hide(const void *ours, bool (*stays)(const char *name));

/**
 * A function of an object that lies in memory as its file does, from its ELF header on. NULL: none.
 */
void *lookup_in_image(const void *image, const char *name);
