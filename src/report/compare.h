// SPDX-License-Identifier: MIT
#pragma once
/**
 * A recording compared with a base, and the verdicts of the gates. As text, as GitHub's markdown,
 * as JUnit's XML and as JSON. Without a base only the totals and the gates are shown. Every
 * function appends to `out`.
 */

#include "report/gates.h"
#include "report/report.h"

struct compare_request {
	const struct diff_input *input; // [DIFF_OURS], and with a base [DIFF_BASE]
	bool has_base;
	const char *file, *base_file;
	uint32_t n_runs, n_base_runs;
	const struct gate_result *gates;
	uint32_t n_gates;
	uint32_t width, limit; // columns; sites per list
};

bool report_compare(struct buffer *out, const struct compare_request *request, struct err *err);
bool report_compare_markdown(struct buffer *out, const struct compare_request *request,
		struct err *err);
bool report_compare_json(struct buffer *out, const struct compare_request *request,
		struct err *err);

/** Both call trees as one, by the lens's metric. Only with a base. */
bool report_compare_tree(struct buffer *out, const struct compare_request *request,
		struct err *err);
bool report_compare_tree_json(struct buffer *out, const struct compare_request *request,
		struct err *err);

/** A test suite with one case per gate. */
bool report_junit(struct buffer *out, const struct compare_request *request, struct err *err);
