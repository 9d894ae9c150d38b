// SPDX-License-Identifier: MIT
#pragma once
/**
 * An opened recording, found by the name that the user typed, read, and with display names:
 * heaptrack's own, or another program's file (import.h). Lives until session_close. Not to copy.
 */

#include "engine/names.h"
#include "engine/suppress.h"
#include "session/import.h"
#include "sys/file.h"
#include "trace/trace.h"

struct session {
	char *path; // of the file that was opened
	bool is_stdin;
	struct recording recording;
	struct trace_facts facts; // of heaptrack's own files
	struct names *names;
	struct buffer embedded;           // lines in LSan's syntax that the program brought with it
	struct buffer complaints;         // for the user: lines about rules that could not be used
	struct suppressions suppressions; // the rules in force, and what each covers
	bool is_ours;
	int fd; // of heaptrack's own file, open for its single events
	uint64_t file_bytes;
};

enum { SESSION_FOLDS_MAX = 32 };

struct session_options {
	const struct import_options *import;  // for files of other programs; NULL: the defaults
	const char *suppressions;             // a file of further rules, or NULL
	bool no_embedded, no_built_in;        // rules of the program, and built-in ones
	const char *folds[SESSION_FOLDS_MAX]; // patterns of code that names no site (naming_rules.h)
	uint32_t n_folds;
	bool is_shown; // on a terminal: control sequences are escaped (base/visible.h)
};

/**
 * Open what `name` means: the file itself, the recording that a name without its suffix stands for
 * ("lodestar.heapdump" opens lodestar.heapdump.zst), or with "-" standard input. NULL options: the
 * defaults. False: `err` says what is wrong with which file, and names similar recordings.
 */
bool session_open(struct session *s, const char *name, const struct session_options *options,
		struct err *err);

/**
 * A session over a recording in memory that is, or is to be, in the file at `path`, as session_open
 * would open that file for a terminal. *r is taken over.
 */
void session_of_recording(struct session *s, struct recording *r, const char *path);

/** Its path, or "standard input". */
const char *session_title(const struct session *s);

/** Do its first bytes show that session_open can read this file? */
bool session_knows(const char *path);

/** Where to read its single events from (trace_read_events). False: it has none. */
bool session_source(struct session *s, struct trace_source *out);

/** NULL, zeroed and half-opened sessions are fine. */
void session_close(struct session *s);

/** A recording in a folder. */
struct listed {
	const char *name;
	uint64_t size_bytes;
	uint64_t written_ns; // since the Unix epoch
};

struct listing {
	VEC(struct listed);
};

/**
 * The recordings in a folder, newest first; their names live in `arena`, the caller calls
 * vec_finish. heaptrack's own files are recognized by their first bytes, others by their names
 * (heaptrack.*.gz, heaptrack.*.zst). False: `err`; `out` may be finished all the same.
 */
bool list_recordings(const char *folder, struct arena *arena, struct listing *out, struct err *err);

/**
 * Append the text of `file`, a string id of the recording, as it is on this machine. Only files
 * that a frame names are read, and only regular ones of at most 4 MiB of text. `root` (may be NULL)
 * is a folder to try first: for "/home/me/app/src/a.c" with home/me/app/src/a.c, then
 * me/app/src/a.c, and so on to a.c. False: `err` says what was looked for.
 */
bool source_read(const struct recording *r, uint32_t file, const char *root, struct buffer *out,
		struct err *err);
