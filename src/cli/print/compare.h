// SPDX-License-Identifier: MIT
#pragma once
/**
 * Recordings compared and judged: -d BASE, --fail-if, --markdown, --junit.
 *
 * Several recordings, and several bases, are repeated runs.
 */

#include "cli/print/exports.h"
#include "report/gates.h"

enum { BASES_MAX = 64, GATES_MAX = 64, EXIT_GATE = 3 };

struct compare_options {
	const char *bases[BASES_MAX];
	struct gate gates[GATES_MAX];
	uint32_t n_bases, n_gates;
	bool is_markdown;
	const char *junit;     // where to; NULL: nowhere
	const char *base_lens; // of the bases; NULL: the same as of the others
};

option_taker compare_take_base, compare_take_gate; // fields: struct compare_options

/** Anything of this file was asked for. */
bool compare_is_asked(const struct compare_options *o);

struct compare_task {
	const struct compare_options *options;
	const struct export_options *exports;
	const struct outputs *outputs; // of exports and JUnit
	const char *const *files;
	uint32_t n_files;
	const struct session_options *session;
	const char *lens; // NULL: everything
	bool is_json;
	bool is_tree; // call trees instead of sites
	uint32_t width, limit;
};

/**
 * Append what is to be printed to `out`, write the other files. *is_broken: a gate failed. False:
 * `err` says what could not be done.
 */
bool compare_run(const struct compare_task *task, struct buffer *out, bool *is_broken,
		struct err *err);
