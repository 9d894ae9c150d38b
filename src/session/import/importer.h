// SPDX-License-Identifier: MIT
#pragma once
/**
 * One kind of file of another program: how to recognize and read it. importers.c has a row for each
 * kind; the first to recognize the start of a file reads it. A format that holds totals per stack
 * decodes it into a neutral profile (formats/profile.h), from which profile/ makes the recording.
 * Any other fills in what recording.h requires, so that recording_is_valid holds: it sets
 * meta.source to REC_IMPORTED (or REC_FROM_KDE) and leaves zero what the format does not contain.
 */

#include "formats/formats.h"
#include "session/import.h"
#include "sys/unpack.h"

struct import {
	struct unpack *in; // at the start of the file
	const char *path;
	const struct import_options *options;
	struct recording *out;       // zeroed
	struct buffer *suppressions; // lines in LSan's syntax that the program brought with it
};

enum { IMPORT_HEAD_BYTES = 4096 };

struct importer {
	const char *name; // for messages: "KDE heaptrack", "pprof"
	/** Are these the first bytes (up to IMPORT_HEAD_BYTES, unpacked) of such a file? */
	bool (*knows)(struct slice head);
	// One of the two. False: `err` says what is wrong with the file; `out` may be partly filled
	bool (*read)(struct import *import, struct err *err);
	profile_decoder *decode;
};

/** The row that recognizes the file's head, or NULL. */
const struct importer *importer_for(struct slice head);

/**
 * Files of KDE's heaptrack, interpreted (format 0 to 3) or raw. They contain single events, which
 * go through the engine's aggregate: the result supports the same queries as heaptrack's own
 * recordings. Raw files are symbolized with this machine's binaries.
 */
bool import_heaptrack(struct import *import, struct err *err);

// ---- files that hold a neutral profile: totals per stack, no single events. recording.missing
// lists what a format does not contain; docs/exports.md has the table.

bool import_profile(struct import *import, profile_decoder *decode, struct err *err);

/** The profile as a recording, in whose arena it must lie. False: max_bytes is reached. */
bool recording_of_profile(struct recording *out, const struct profile *p, struct err *err);
