// SPDX-License-Identifier: MIT
#pragma once
/** Files that heaptrack_print writes: --export, and the classic -F, -M and -H. */

#include "cli/options/table.h"
#include "engine/lens.h"
#include "export/export.h"
#include "session/session.h"

enum { EXPORTS_MAX = 32 };

struct export_job {
	const char *format; // of the table of exporters
	const char *path;   // "-": stdout
	bool is_flamegraph; // -F: folded by cost_type, whatever the lens
};

struct export_options {
	struct export_job jobs[EXPORTS_MAX];
	uint32_t n;
	bool has_new; // --export: then no report is printed, unless something else asks for one
	const char *cost_type;
	double massif_threshold;
	uint32_t massif_detailed_every;
};

struct export_options export_options_default(void);

/** --export NAME=OUT; a name that there is not is found out here. Fields: struct export_options. */
option_taker export_take;
option_taker export_take_classic; // -F, -M, -H
option_taker export_take_cost_type, export_take_threshold;

/** What is exported: a session under a lens, compared with another or (base NULL) not. */
struct export_subject {
	struct session *session;
	const struct session *base;
	const struct lens *lens, *base_lens;
};

/** One file. */
bool export_file(const struct export_job *job, struct export_request *request, struct err *err);

/** All that the options ask for. */
bool export_all(const struct export_options *o, const struct export_subject *subject,
		struct err *err);

enum { OUTPUTS_MAX = EXPORTS_MAX + 2 };

/**
 * All files that a call of heaptrack_print writes. None of them may be an input file, so that a
 * recording is never overwritten, and no two may be the same.
 */
struct outputs {
	const char *paths[OUTPUTS_MAX]; // borrowed; "-" is stdout
	uint32_t n;
};

/** NULL is no output. At most OUTPUTS_MAX. False: `err` says which file is asked for twice. */
bool outputs_add(struct outputs *o, const char *path, struct err *err);

/** False: `err` names the output that is the file of one of these sessions. */
bool outputs_spare(const struct outputs *o, const struct session *sessions, uint32_t n,
		struct err *err);
