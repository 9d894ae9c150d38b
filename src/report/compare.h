// SPDX-License-Identifier: MIT
#pragma once
/**
 * A recording compared with a base, and the gates' verdicts, as text, GitHub's markdown, JUnit's
 * XML and JSON. Without a base only totals and gates are shown. Every function appends to `out`.
 */

#include "engine/diff.h"
#include "report/report.h"

// ---- gates for CI: conditions that a recording must not meet

/** GATE() as in METRIC_GATES. */
#define OTHER_GATES(GATE)                                                            \
	GATE(PEAK_RSS, "peak-rss", PEAK, true, false, "the peak RSS is")                 \
	GATE(LOST, "lost", PEAK, false, false, "lost events:")                           \
	GATE(RSS, "rss", PEAK, true, false, "RSS is") /* from here on: of a look */      \
	GATE(HEAP_FREE, "heap-free", PEAK, true, true, "free, and kept by malloc:")      \
	GATE(UNTOUCHED, "untouched", PEAK, true, false, "of live blocks not in memory:") \
	GATE(UNKNOWN, "unknown", PEAK, true, true, "in memory without a known owner:")

enum gate_number {
#define GATE_NUMBER(id, ...) GATE_##id,
	METRIC_GATES(GATE_NUMBER) OTHER_GATES(GATE_NUMBER)
#undef GATE_NUMBER
			N_GATE_NUMBERS,
};

/** For the texts of options: each name, with a space before it. */
#define GATE_NAMES_TEXT METRIC_GATES(METRIC_NAME) OTHER_GATES(METRIC_NAME)

enum gate_limit { GATE_ABSOLUTE, GATE_SHARE, GATE_MORE, GATE_MORE_SHARE };

struct gate {
	const char *text; // as typed; borrowed
	enum gate_number number;
	bool is_below; // "<": it must not be smaller; else ">": it must not be larger
	bool or_equal; // ">=", "<="
	enum gate_limit limit;
	double value; // shares: 1 is all
};

/** False: `err` shows how gates are written. */
bool gate_parse(struct gate *g, const char *text, struct err *err);

struct gate_runs {
	const struct diff_input *runs;
	uint32_t n;
};

struct gate_result {
	const struct gate *gate;
	bool is_failed;
	const char *sentence; // what was found, of which site it is; ends with no stop
};

/** False: a gate asks for a base that there is not. Results in the arena. */
bool gates_check(const struct gate *gates, uint32_t n, struct gate_runs ours, struct gate_runs base,
		struct arena *arena, struct gate_result **out, struct err *err);

/** *run: whose number of this kind is the median, the one to show. */
bool gate_median_run(struct gate_runs runs, enum gate_number number, struct arena *arena,
		uint32_t *run, struct err *err);

// ---- a recording compared with a base, and the verdicts of the gates

struct compare_request {
	const struct diff_input *input; // [DIFF_OURS], and with a base [DIFF_BASE]
	bool has_base;
	const char *file, *base_file;
	uint32_t n_runs, n_base_runs;
	const struct gate_result *gates;
	uint32_t n_gates;
	uint32_t width, limit; // columns; sites per list
	enum breakdown_by by;  // of report_compare_tree: whose parts; N_BREAKDOWNS: call trees
};

typedef void comparison(struct buffer *out, const struct compare_request *request);
comparison report_compare, report_compare_markdown, report_compare_json;

/** Both call trees as one, or both lists of parts, by the lens's metric. Only with a base. */
comparison report_compare_tree, report_compare_tree_json;

/** A test suite with one case per gate. */
comparison report_junit;
