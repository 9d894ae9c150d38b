// SPDX-License-Identifier: MIT
#pragma once
/**
 * The output file, from the choice of its name to the finished file.
 *
 * What happens to an existing file of that name, how much disk space it may use, and how the
 * finished file replaces the growing one.
 */

#include "trace/trace.h"

#include <sys/types.h>

struct output_request {
	const char *name;    // as given with -o, %h and %p unexpanded; NULL: the default name
	const char *program; // what the user typed: for the default name
	pid_t pid;           // what %p stands for
	bool overwrite;      // an existing recording is replaced and not moved aside
};

enum { OUTPUT_NOTES = 4 };

struct output {
	char path[4096 + 512];
	int fd;                 // -1: closed
	uint64_t size;          // bytes, as far as written
	uint64_t reserve_bytes; // of the disk's free space, never used up
	uint32_t n_notes;
	char notes[OUTPUT_NOTES][5000]; // sentences for the user: a suffix replaced, a file moved aside
};

/**
 * Choose the name and create the file, which is locked as long as it is open: a name that another
 * heaptrack records to is left to it, and `path` is a numbered one. False: `err` is for the user.
 */
bool output_open(struct output *o, const struct output_request *request, struct err *err);

/** Where a trace_writer writes to. Refuses growth into the reserve (ERR_LIMIT). */
struct trace_sink output_sink(struct output *o);

/** To read back what was written. */
struct trace_source output_source(struct output *o);

/**
 * Write a finished file next to the growing one with `write` and rename it over. If the growing
 * file was moved, it is replaced in its new place; if it was removed, or another file has its name,
 * the finished file gets that name or a numbered one: then `path` changes, and a note says so.
 * False: failed; the growing file is unchanged, and nothing else is left behind.
 */
bool output_replace(struct output *o,
		bool (*write)(void *user, struct trace_sink sink, struct err *err), void *user,
		struct err *err);

/** False: the growing file has no name any more, and goes with its descriptor. */
bool output_is_there(const struct output *o);

/** Close it; remove it as well if it is not worth keeping. */
void output_close(struct output *o, bool keep);

/** `name` with a `.zst` suffix; *was_replaced: another compression suffix gave way. */
void output_suffix(char *out, size_t size, const char *name, bool *was_replaced);

/** `name` with %h, %p and %% replaced. */
void output_expand(char *out, size_t size, const char *name, pid_t pid);
