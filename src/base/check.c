// SPDX-License-Identifier: MIT
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *cond, const char *file, int line) {
	fprintf(stderr, "heaptrack: our own mistake: %s:%d: %s is false. Please report it.\n", file,
			line, cond);
	abort();
}
