// SPDX-License-Identifier: MIT
#pragma once
/** Reads another program's file, compressed (gzip, zstd) or not, and names what had no names. */

#include "formats/profile.h"
#include "symbols/symbols.h"

struct import_options {
	uint64_t max_unpacked_bytes;           // 0: UNPACK_DEFAULT_MAX
	uint64_t max_memory_bytes;             // of the tables made from the file; 0: 8 GiB
	const struct symbols_options *symbols; // where to look up names that the file lacks, or NULL
};

/** Read a file of another program and its `suppressions`. False: nothing usable, `out` is empty. */
bool import_file(const char *path, const struct import_options *options, struct recording *out,
		struct buffer *suppressions, struct err *err);

/**
 * Symbolize a recording's locations without names (function, file, line, inlined frames) from
 * binaries in the places of `options`, or if NULL, the recording's. Locations, frames, strings and
 * the modules' facts change; ids of strings stay.
 */
void resolve_names(struct recording *r, const struct symbols_options *options);
