// SPDX-License-Identifier: MIT
#pragma once
/**
 * The lines of KDE heaptrack's files, format 0 to 3, raw and interpreted: bytes <-> records. What a
 * record means is the business of who reads it; docs/kde.md tells it.
 *
 * A line is a letter, a space and fields parted by single spaces: numbers in lower-case
 * hexadecimal, and for some letters a text. In format 3 texts of x, m, s and S stand behind their
 * length; the reader takes them without as well, because there are writers that forget it.
 */

#include "base/base.h"

enum {
	HEAPTRACK_FORMAT = 3,        // the newest that is known, and what is written
	HEAPTRACK_LINE_MAX = 1 << 20 // longer lines are no such file's
};

struct heaptrack_record {
	char kind;         // v x X I S A m t + - c R; interpreted: s i a
	bool is_bad;       // the line makes no sense: kind is all that is known of it
	struct slice text; // of x X S s, and the name of an m ("-": forget all modules)
	const uint64_t *numbers;
	size_t n;
};

/** False: stop, with what `err` says. The record and all in it are borrowed for the call. */
typedef bool heaptrack_each(void *user, const struct heaptrack_record *record, struct err *err);

/** `+ number` or `- number` and nothing else: nearly all lines of an interpreted file. */
struct heaptrack_event {
	uint64_t number;
	bool is_free;
};

/** Some that follow each other, borrowed for the call. False: stop, with what `err` says. */
typedef bool heaptrack_events(void *user, const struct heaptrack_event *events, size_t n,
		struct err *err);

/** A zeroed struct is ready to read. */
struct heaptrack_reader {
	unsigned format;    // of the file, known once `v` was read
	unsigned program;   // version of the heaptrack that wrote it: major << 16 | minor << 8 | patch
	uint64_t n_lines;   // read so far
	uint64_t n_bad;     // of these, lines that make no sense
	struct buffer rest; // a line whose end has not come yet; after all bytes, it may be cut
	heaptrack_events *events; // gets most of those lines, which `each` then does not; may be NULL
	VEC(uint64_t) numbers;

	// Of the call of heaptrack_read at hand
	heaptrack_each *each;
	void *user;
	struct err *err;
};

/** True if a file that begins so is one of these. */
bool heaptrack_is_head(struct slice head);

/**
 * Read further bytes of the file: each whole line goes to `each`; comments, empty lines and letters
 * that nobody knows do not. False: a newer format, a line without end, or `each` said so.
 */
bool heaptrack_read(struct heaptrack_reader *r, struct slice bytes, heaptrack_each *each,
		void *user, struct err *err);

void heaptrack_reader_finish(struct heaptrack_reader *r);

/**
 * Append a record as a line of format 3. What would end the line early in a text becomes a space.
 */
void heaptrack_write(struct buffer *out, char kind, struct slice text, const uint64_t *numbers,
		size_t n);
