// SPDX-License-Identifier: MIT
#pragma once

// What the user asked `heaptrack` for. Used by record.c alone.

#include "base/err.h"

#include <stdint.h>

enum asked {
	ASKED_RECORD,
	ASKED_HELP,
	ASKED_VERSION,
	ASKED_ANALYZE,
	ASKED_INTERPRET,
	ASKED_ATTACH,
	ASKED_DETACH,
	ASKED_DEBUG,
	ASKED_BESIDE
};

struct heaptrack_options {
	enum asked what;
	const char *output;
	int pid;              // after -p, --detach or --beside
	int fd;               // after --beside
	uint64_t duration_ns; // 0: until somebody ends it
	bool overwrite, is_quiet, free_stacks, exact_time;
	bool is_raw;           // --raw
	uint64_t events_bytes; // 0: none
	char **rest;           // the program and its arguments, or what follows -a
	int n_rest;
};

/** False: `err` says what is wrong, with the word that is. */
bool heaptrack_options_parse(struct heaptrack_options *o, int argc, char **argv, struct err *err);

/** "90", "90s", "1.5m", "2h", "300ms": a time. */
bool heaptrack_options_time(const char *text, uint64_t *ns, struct err *err);

/** "500M", "2G", "123k", "4096": bytes, in decimal units. */
bool heaptrack_options_size(const char *text, uint64_t *bytes, struct err *err);

extern const char heaptrack_help[];
