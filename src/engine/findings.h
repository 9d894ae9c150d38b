// SPDX-License-Identifier: MIT
#pragma once
/**
 * Makes findings, the sentences about a recording. They are computed once, here, for the report,
 * the page, the terminal and JSON. A finding states what was measured, its figures, the function it
 * is about and the lens that shows it. A rule that is not sure says nothing. docs/findings.md has
 * one paragraph per rule.
 */

#include "engine/names.h"

enum finding_severity {
	FINDING_FACT,       // good to know: nothing is asked of anybody
	FINDING_EXPLAINS,   // says where memory is; the usual
	FINDING_WORTH_IT,   // changing it would be felt
	FINDING_LOOK_FIRST, // what a person opened the recording for
};

struct finding_number {
	const char *name; // with its unit: "bytes", "lasted_ns", "rate_bytes_per_s"
	uint64_t value;
};

enum { FINDING_NUMBERS_MAX = 16 };

struct finding {
	const char *id;    // of its rule, for scripts: "peak", "never-freed", "growing", "churn", ...
	const char *title; // for a card or the beginning of a line: "never freed"
	const char *text;  // one sentence without the title; ends in a stop
	const char *lens;  // text of the lens that shows it (lens.h); "": everything
	const struct name *function; // whom it is about; NULL: nobody in particular
	const char *place;           // "demo.cpp:37", else the module's name; "" without a function
	enum finding_severity severity;
	uint64_t weight; // among those of one severity: what it is about, in millionths of the whole
	uint32_t number; // in the order of finding: decides between equal weights
	bool is_quality; // stands among the quality lines already
	uint32_t n_numbers;
	struct finding_number numbers[FINDING_NUMBERS_MAX];
};

struct findings {
	const struct finding *items; // what matters most first
	uint32_t n;
	uint64_t noise_bytes, noise_blocks; // never freed by the runtime itself: in no accusation
};

/** Everything lives in `arena`, or with the recording and the names. False: no memory. */
bool findings_make(struct findings *out, const struct recording *r, const struct names *n,
		struct arena *arena, struct err *err);

/** The number of that name, or 0. */
uint64_t finding_number(const struct finding *f, const char *name);
