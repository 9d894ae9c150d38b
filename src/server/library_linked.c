// SPDX-License-Identifier: MIT
#include "server/library.h"

// For the program that is linked statically (packaging/), which can load nothing

bool library_load(struct library *library, struct err *err) {
	(void)err;
#define TAKE(name) library->name = MHD_##name;
	LIBRARY_CALLS(TAKE)
#undef TAKE
	return true;
}
