// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>

/*
 * Functions of the loaded objects by their names, read from the objects' own tables. dlsym would do,
 * but it takes away what dlerror() is about to tell the program, allocates, frees what earlier calls
 * of it have left, and is in a library of its own before glibc 2.34. Any thread; never from a signal
 * handler: the loader's lock is taken.
 */

/**
 * What dlsym(RTLD_NEXT) finds from the object of `ours`, the program's libraries as they are linked:
 * a definition in an object behind it that was loaded at the program's start. NULL: there is none.
 */
void *lookup_next(const char *name, const void *ours);

/** In any object, also one that the program has loaded itself. NULL: nobody but `ours` defines it. */
void *lookup_function(const char *name, const void *ours);

/** True if the loaded object that `function` is of also defines a function of that name. */
bool lookup_is_beside(const void *function, const char *name);

/**
 * Whoever looks up `name` in the loaded object that `from` is of, and would find `from`, finds `to` from now on:
 * the object's own symbols in memory say so. What is bound already stays.
 */
void lookup_redirect(const char *name, const void *from, const void *to);

/**
 * Let nobody find any more those functions of the object of `ours` that no object behind it defines
 * which the program was started with, but for those that stay.
 */
void lookup_hide(const void *ours, bool (*stays)(const char *name));

/** A function of an object that lies in memory as its file, from its ELF header on. NULL: none. */
void *lookup_in_image(const void *image, const char *name);
