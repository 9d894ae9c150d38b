// SPDX-License-Identifier: MIT
#pragma once
/**
 * The lines of KDE heaptrack's files, format 0 to 3, raw and interpreted: bytes <-> records.
 * docs/kde.md tells what records mean. A line is a letter, a space and fields separated by single
 * spaces: numbers in lower-case hexadecimal, and for some letters a text. In format 3 the texts of
 * x, m, s and S follow their length; the reader does without it, because some writers forget it.
 */

#include "base/base.h"

enum {
	HEAPTRACK_FORMAT = 3,        // the newest known, and the one written
	HEAPTRACK_LINE_MAX = 1 << 20 // such files have no longer lines
};

struct heaptrack_record {
	char kind;         // v x X I S A m t + - c R; interpreted: s i a
	bool is_bad;       // invalid: only kind is known
	struct slice text; // of x X S s, and the name of an m ("-": forget all modules)
	const uint64_t *numbers;
	size_t n;
};

/** Return false to stop, with `err`. The record is borrowed for the call. */
typedef bool heaptrack_each(void *user, const struct heaptrack_record *record, struct err *err);

/** `+ number` or `- number` alone: nearly all lines of an interpreted file. */
struct heaptrack_event {
	uint64_t number;
	bool is_free;
};

/** Consecutive events, borrowed for the call. Return false to stop, with `err`. */
typedef bool heaptrack_events(void *user, const struct heaptrack_event *events, size_t n,
		struct err *err);

/** Zeroed: ready to read. */
struct heaptrack_reader {
	unsigned format;          // of the file, known after `v`
	unsigned program;         // the writer's version: major << 16 | minor << 8 | patch
	uint64_t n_lines;         // read so far
	uint64_t n_bad;           // of these, invalid ones
	struct buffer rest;       // a line without its end; after all bytes, maybe truncated
	heaptrack_events *events; // gets most such lines instead of `each`; or NULL
	VEC(uint64_t) numbers;

	// Of the current heaptrack_read
	heaptrack_each *each;
	void *user;
	struct err *err;
};

/** Can a file begin like this? */
bool heaptrack_is_head(struct slice head);

/**
 * Read more bytes of the file: each complete line goes to `each`, except comments, empty lines and
 * unknown letters. False: a newer format, too long a line, or `each` returned false.
 */
bool heaptrack_read(struct heaptrack_reader *r, struct slice bytes, heaptrack_each *each,
		void *user, struct err *err);

void heaptrack_reader_finish(struct heaptrack_reader *r);

/** Append a record as a line of format 3. Line ends in a text become spaces. */
void heaptrack_write(struct buffer *out, char kind, struct slice text, const uint64_t *numbers,
		size_t n);
