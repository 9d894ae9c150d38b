// SPDX-License-Identifier: MIT

// Files of KDE's heaptrack, raw and interpreted, through the importer that opens them: whatever comes
// in, what comes out is a valid recording within bounds, or an error with a sentence

#include "base/err.h"
#include "session/import/importer.h"

#include <string.h>

enum { FUZZ_MAX_BYTES = 64 << 20 };

struct bytes {
	const uint8_t *at;
	size_t left;
};

static bool read_bytes(void *user, void *out, size_t n, size_t *got, struct err *err) {
	(void)err;
	struct bytes *b = user;
	*got = n < b->left ? n : b->left;
	memcpy(out, b->at, *got);
	b->at += *got;
	b->left -= *got;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct bytes bytes = {data, size};
	struct recording r = {.arena = {.max_bytes = FUZZ_MAX_BYTES}};
	const struct import_options options = {0};
	struct err err = {0};
	struct import import = {
			.in = unpack_create((struct unpack_source){read_bytes, &bytes}, FUZZ_MAX_BYTES, &err),
			.path = "fuzz",
			.options = &options,
			.out = &r,
	};
	check(import.in);
	if (import_heaptrack(&import, &err)) {
		struct err why = {0};
		if (!recording_is_valid(&r, &why)) {
			check(why.code != ERR_NONE && why.text[0]);
			__builtin_trap(); // it says that it is one
		}
	} else {
		check(err.code != ERR_NONE && err.text[0]);
	}
	unpack_close(import.in);
	buffer_finish(&import.suppressions);
	recording_finish(&r);
	return 0;
}
