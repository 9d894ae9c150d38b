// SPDX-License-Identifier: MIT
#pragma once
/** What the user asked heaptrack for. Only record.c uses it. */

#include "collector/run.h"

enum asked {
	ASKED_RECORD,
	ASKED_ANALYZE,
	ASKED_INTERPRET,
	ASKED_ATTACH,
	ASKED_DETACH,
	ASKED_DEBUG,
	ASKED_CONTROL,
	ASKED_LOOK,
	ASKED_CHECK,
	ASKED_BESIDE
};

struct heaptrack_options {
	int what; // enum asked
	struct run_options run;
	struct attach_options attach; // its pid: after -p, --detach, --look or --beside, too
	int fd;                       // after --beside
	bool has_max_pause;
	bool python_objects;
	bool is_raw;  // --raw
	bool is_json; // after --check
	char **rest;  // the program and its arguments, or what follows -a or --ctl
	int n_rest;
};

/** False: `err` says what is wrong, and with which word. */
bool heaptrack_options_parse(struct heaptrack_options *o, int argc, char **argv, struct err *err);

// ---- recordings made elsewhere, symbolized here

/**
 * `heaptrack -i FILE [--sysroot D] [--debug-paths D...] [--extra-paths D...] [-o OUT]`: symbolizes
 * a recording made elsewhere with this machine's binaries. KDE's raw file becomes an interpreted
 * one (x.raw.zst: x.zst); heaptrack's own recording is replaced by a symbolized one, and the
 * original renamed. argv[0] is ignored. Returns the exit status.
 */
int cli_interpret_files(int argc, char **argv);

/** The name of a recording in another form: "x.zst", "x.raw.gz" and the like become "xEND". */
const char *interpret_name(char out[PATH_MAX], const char *path, const char *end);

/** The budget of single events for the raw stream: all of them. */
#define RECORD_ALL_EVENTS ((uint64_t)1 << 60)

/** `heaptrack --raw`: turn `path`, with its single events, into `raw_path`. False: `path` stays. */
bool interpret_to_raw(const char *path, const char *raw_path, struct err *err);
