// SPDX-License-Identifier: MIT

/*
 * combinations.c, but its threads take their blocks from plugins beside the program, in turn: from
 * two, which have an allocator of their own each, or from one alone, in a namespace of its own (dlmopen) with
 * a C library of its own.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*makes[2])(size_t size);
static void (*releases[2])(void *block);

static int which(void) {
	static atomic_int n_threads;
	static _Thread_local int number;
	number = number ? number : 1 + atomic_fetch_add(&n_threads, 1);
	return number % 2;
}

__attribute__((constructor)) static void load(int argc, char **argv) {
	static const char *const names[] = {PLUGINS};
	enum { N = sizeof names / sizeof *names };
	(void)argc;
	for (int i = 0; i < 2; i++) {
		char path[4096];
		int n_folder = (int)(strrchr(argv[0], '/') + 1 - argv[0]);
		(void)snprintf(path, sizeof path, "%.*s%s", n_folder, argv[0], names[i % N]);
		void *plugin = N == 2 ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
				: i == 0      ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW)
							  : NULL;
		if (!plugin && i < N) {
			(void)fprintf(stderr, "%s\n", dlerror());
			_Exit(1);
		}
		makes[i] = plugin ? dlsym(plugin, "plugin_make") : makes[0];
		releases[i] = plugin ? dlsym(plugin, "plugin_release") : releases[0];
	}
}

#define malloc(size) makes[which()](size)
#define free(block)  releases[which()](block)
#include "combinations.c"
