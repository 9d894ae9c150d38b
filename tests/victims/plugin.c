// SPDX-License-Identifier: MIT

/** What plugin_host loads: each call makes 10 blocks of 70 bytes that stay. */

#include <stdlib.h>

void plugin_work(void);
static void *volatile kept;

static void plugin_allocate(void) {
	kept = malloc(70);
}

void plugin_work(void) {
	for (int i = 0; i < 10; i++) {
		plugin_allocate();
	}
}
