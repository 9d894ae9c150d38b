// SPDX-License-Identifier: MIT
#pragma once

/**
 * Reads files of other programs into a recording. import/importers.c has one row per format; the first one
 * that recognizes the start of a file reads it. Files are decompressed (gzip, zstd) first.
 *
 * A reader fills everything that recording.h requires, so that recording_is_valid holds; it sets
 * meta.source to REC_IMPORTED (or REC_FROM_KDE) and leaves zero what its format does not contain.
 */

#include "base/buffer.h"
#include "formats/profile.h"
#include "symbols/symbols.h"
#include "sys/unpack.h"
#include "trace/recording.h"

struct import_options {
	uint64_t max_unpacked_bytes;           // 0: UNPACK_DEFAULT_MAX
	uint64_t max_memory_bytes;             // of the tables made from the file; 0: 8 GiB
	const struct symbols_options *symbols; // where names are looked up that the file lacks, or NULL
	/** Called now and then with the share of the file that was read, 0 .. 1000; or NULL. */
	void (*progress)(void *user, unsigned per_mille);
	void *user;
};

/** What an importer gets and gives. */
struct import {
	struct unpack *in; // at the file's beginning
	const char *path;
	const struct import_options *options;
	struct recording *out;      // zeroed
	struct buffer suppressions; // lines of LSan's kind that the program brought with it
};

enum { IMPORT_HEAD_BYTES = 4096 };

struct importer {
	const char *name; // for messages: "KDE heaptrack", "pprof"
	/** Are these the first bytes (up to IMPORT_HEAD_BYTES, unpacked) of such a file? */
	bool (*knows)(struct slice head);
	/** False: `err` says what is wrong with it. `out` may be half filled. */
	bool (*read)(struct import *import, struct err *err);
};

/** The row that knows the file's head, or NULL. */
const struct importer *importer_for(struct slice head);

/**
 * Read a file of another program. `suppressions` (may be NULL) receives those of the program.
 * False: nothing usable; `out` is empty again.
 */
bool import_file(const char *path, const struct import_options *options, struct recording *out,
		struct buffer *suppressions, struct err *err);

/** What `missing` of a recording says of a value of a profile: a bit of REC_*. */
extern const uint32_t profile_value_recorded[N_PROFILE_VALUES];
