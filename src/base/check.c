// SPDX-License-Identifier: MIT
/* Says which check failed, and aborts. */
#include "base/check.h"

#include <stdio.h>

void check_failed(const char *cond, const char *file, int line) {
	fprintf(stderr, "heaptrack: internal error: %s:%d: check failed: %s; please report it\n", file,
			line, cond);
	abort();
}
