// SPDX-License-Identifier: MIT
#pragma once

/** Files for other tools: --export, and the classic -F, -M and -H. */

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
