// SPDX-License-Identifier: MIT
/* The library, loaded when a page is served. */
#include "server/http.h"

#include <dlfcn.h>

// Its ABI version, the same since 2016
#define LIBRARY_NAME "libmicrohttpd.so.12"

bool library_load(struct library *library, struct err *err) {
	void *loaded = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
	bool ok = loaded != NULL;
#define TAKE(name) ok = ok && (*(void **)&library->name = dlsym(loaded, "MHD_" #name));
	LIBRARY_CALLS(TAKE)
	return ok ||
			err_unsupported(err,
					"the page is served by libmicrohttpd, which cannot be loaded (%s); without it, "
					"heaptrack_print --html makes one file that opens in any browser",
					dlerror());
}
