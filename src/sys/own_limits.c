// SPDX-License-Identifier: MIT
/* Remembers the limits of the start, and gives them back to children. */
#include "sys/own_limits.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

enum {
	STACK_BYTES = 8 << 20, // elfutils and the demangler go deep
	FILES_LEAST = 1024,
};

static const unsigned kept[] = {RLIMIT_STACK, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS};
enum { N_KEPT = sizeof kept / sizeof *kept };

static struct rlimit started_with[N_KEPT];
static bool is_known[N_KEPT];

static void raise_to(unsigned which, rlim_t least) {
	struct rlimit limit;
	if (getrlimit(which, &limit) != 0 || limit.rlim_cur >= least) {
		return;
	}
	rlim_t most = limit.rlim_max;
	struct rlimit wanted = {least, most < least ? least : most};
	if (setrlimit(which, &wanted) != 0) { // only root moves the hard one
		wanted = (struct rlimit){most, most};
		(void)setrlimit(which, &wanted);
	}
}

void own_limits_raise(void) {
	for (size_t i = 0; i < N_KEPT; i++) {
		is_known[i] = getrlimit(kept[i], &started_with[i]) == 0;
	}
	raise_to(RLIMIT_STACK, STACK_BYTES);
	raise_to(RLIMIT_NOFILE, FILES_LEAST);
	pthread_attr_t attr;
	if (pthread_attr_init(&attr) == 0) {
		if (pthread_attr_setstacksize(&attr, STACK_BYTES) == 0) {
			(void)pthread_setattr_default_np(&attr);
		}
		(void)pthread_attr_destroy(&attr);
	}
}

void own_limits_restore(void) {
	for (size_t i = 0; i < N_KEPT; i++) {
		if (is_known[i]) {
			(void)setrlimit(kept[i], &started_with[i]);
		}
	}
}
