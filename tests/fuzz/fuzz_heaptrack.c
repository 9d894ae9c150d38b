// SPDX-License-Identifier: MIT

// Files of KDE's heaptrack, raw and interpreted, through the importer that opens them: whatever comes
// in, what comes out is a valid recording within bounds, or an error with a sentence

#include "base/err.h"
#include "session/import/importer.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FUZZ_MAX_BYTES = 64 << 20 };

/** A file in memory, which takes each input in turn. */
static struct unpack *open_bytes(const uint8_t *data, size_t size, struct err *err) {
	static char path[32];
	static int fd;
	if (!*path) {
		fd = memfd_create("input", MFD_CLOEXEC);
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	check(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return unpack_open(path, FUZZ_MAX_BYTES, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct recording r = {.arena = {.max_bytes = FUZZ_MAX_BYTES}};
	const struct import_options options = {0};
	struct err err = {0};
	struct buffer suppressions = {0};
	struct import import = {
			.in = open_bytes(data, size, &err),
			.path = "fuzz",
			.options = &options,
			.out = &r,
			.suppressions = &suppressions,
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
	buffer_finish(&suppressions);
	recording_finish(&r);
	return 0;
}
