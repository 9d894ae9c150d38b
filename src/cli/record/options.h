// SPDX-License-Identifier: MIT
#pragma once
/** What the user asked heaptrack for. Used by record.c alone. */

#include "base/base.h"

enum asked {
	ASKED_RECORD,
	ASKED_HELP,
	ASKED_VERSION,
	ASKED_ANALYZE,
	ASKED_INTERPRET,
	ASKED_ATTACH,
	ASKED_DETACH,
	ASKED_DEBUG,
	ASKED_COMPLETION,
	ASKED_CONTROL,
	ASKED_LOOK,
	ASKED_CHECK,
	ASKED_BESIDE
};

struct heaptrack_options {
	int what; // enum asked
	const char *output;
	const char *shell;    // of ASKED_COMPLETION
	int pid;              // after -p, --detach, --look or --beside
	int fd;               // after --beside
	uint64_t duration_ns; // 0: until somebody ends it
	uint64_t max_pause_ns;
	bool has_max_pause;
	bool overwrite, is_quiet, free_stacks, exact_time, no_memory;
	bool is_raw;           // --raw
	bool is_json;          // after --check
	uint64_t events_bytes; // 0: none
	char **rest;           // the program and its arguments, or what follows -a or --ctl
	int n_rest;
};

/** False: `err` says what is wrong, with the word that is. */
bool heaptrack_options_parse(struct heaptrack_options *o, int argc, char **argv, struct err *err);
