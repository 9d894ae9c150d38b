// SPDX-License-Identifier: MIT
/* The library of a program that is linked statically (packaging/), which can load nothing. */
#include "server/http.h"

bool library_load(struct library *library, struct err *err) {
	(void)err;
#define TAKE(name) library->name = MHD_##name;
	LIBRARY_CALLS(TAKE)
	return true;
}
