// SPDX-License-Identifier: MIT
/*
 * Opens files in a browser: bytes go in, the page's profile comes out (web/page.h). The page calls,
 * in this order: module_room, module_open, then module_blob or module_said.
 */
#include "wasm/module.h"

#include "session/session.h"
#include "web/page.h"

// For another tool's file: its tables, as a module has 4 GiB in all; and what it unpacks to
#define MEMORY_MAX   (3ull << 30)
#define UNPACKED_MAX (16ull << 30)

#define EXPORT(name) __attribute__((export_name(#name))) name

struct module_file module_file;

static struct {
	char *name; // followed by the file's bytes
	struct session session;
	struct buffer blob, said; // said: what is wrong
} m;

/** Forget what was opened. */
static void clear(void) {
	session_close(&m.session);
	CALL_FOR(buffer_finish, &m, blob, said);
	free(m.name);
	memset(&m, 0, sizeof m);
	module_file = (struct module_file){0};
}

/** Where to put a name, a zero byte, and `n` bytes of a file. NULL: no memory. */
char *EXPORT(module_room)(size_t n_name, size_t n) {
	clear();
	m.name = n < SIZE_MAX - n_name - 1 ? malloc(n_name + 1 + n) : NULL;
	module_file = (struct module_file){.name = m.name};
	module_file.bytes = slice_of(m.name ? m.name + n_name + 1 : NULL, n);
	return m.name;
}

/** Open what was put there. False: module_said says why. */
bool EXPORT(module_open)(void) {
	struct err err = {0};
	memory_must("the engine", 1);
	const struct import_options import = {
			.max_memory_bytes = MEMORY_MAX,
			.max_unpacked_bytes = UNPACKED_MAX,
	};
	const struct session_options how = {.import = &import};
	struct blob_options options = {.packing = BLOB_AS_IS};
	bool ok = session_open(&m.session, m.name, &how, &err);
	if (ok) {
		blob_write(&m.blob, &m.session.recording, m.session.names, &options);
	} else {
		buffer_text(&m.said, err.text);
	}
	return ok;
}

const uint8_t *EXPORT(module_blob)(void) {
	return m.blob.data;
}

size_t EXPORT(module_blob_bytes)(void) {
	return m.blob.size;
}

const uint8_t *EXPORT(module_said)(void) {
	return m.said.data;
}

size_t EXPORT(module_said_bytes)(void) {
	return m.said.size;
}
