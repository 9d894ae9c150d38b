// SPDX-License-Identifier: MIT
/* The library in a statically linked program (packaging/), which cannot load any. */
#include "server/http.h"

bool library_load(struct library *library, struct err *err) {
	(void)err;
#define TAKE(name) library->name = MHD_##name;
	LIBRARY_CALLS(TAKE)
	return true;
}
