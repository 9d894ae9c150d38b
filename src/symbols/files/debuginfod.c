// SPDX-License-Identifier: MIT
/*
 * Asks a debuginfod server, through a library loaded on demand.
 *
 * Loaded by name and only here: without the user's wish the library is not even in the process.
 */
#include "symbols/files/files.h"
#include "sys/file.h"

#include <dlfcn.h>

struct client_calls {
	void *(*begin)(void);
	int (*find_debuginfo)(void *client, const unsigned char *id, int n, char **path);
	void (*end)(void *client);
};

static bool load(struct client_calls *calls) {
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		return false;
	}
	*(void **)&calls->begin = dlsym(library, "debuginfod_begin");
	*(void **)&calls->find_debuginfo = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&calls->end = dlsym(library, "debuginfod_end");
	return calls->begin && calls->find_debuginfo && calls->end;
}

bool debuginfod_open(struct mapped_file *out, struct slice build_id, struct err *err) {
	struct client_calls calls;
	if (!build_id.size) {
		return err_set(err, ERR_NOT_FOUND, "debuginfod needs a build-id");
	}
	if (!load(&calls)) {
		return err_set(err, ERR_UNSUPPORTED, "libdebuginfod.so.1 is not installed");
	}
	void *client = calls.begin();
	if (!client) {
		return err_set(err, ERR_SYSTEM, "cannot start debuginfod");
	}
	FREED char *path = NULL;
	CLOSED int fd = calls.find_debuginfo(client, build_id.data, (int)build_id.size, &path);
	calls.end(client);
	if (fd < 0) {
		return err_system(err, -fd, "debuginfod");
	}
	return mapped_file_open(out, fd, path ? path : "debuginfod", build_id, err);
}
