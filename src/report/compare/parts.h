// SPDX-License-Identifier: MIT
#pragma once
/** What the forms of a comparison share: totals, changed sites, and how both are put. */

#include "report/compare.h"
#include "report/text/page.h"

/** A total of both sides; texts for people. */
struct total {
	const char *what;
	bool is_bytes, is_known[N_DIFF_SIDES];
	uint64_t value[N_DIFF_SIDES];
	const char *key;
};
enum {
	TOTAL_PEAK,
	TOTAL_NEVER_FREED,
	TOTAL_ALLOCATIONS = 3,
	TOTAL_ALLOCATED_BYTES,
	TOTAL_TEMPORARY,
	TOTAL_PEAK_RSS,
	N_TOTALS,
};
void totals_of(const struct compare_request *request, struct arena *arena,
		struct total out[N_TOTALS]);

/** A side's total as text; whether both totals are known and differ. */
const char *total_text(char text[HUMAN_MAX], const struct total *t, int side);
bool total_has_changed(const struct total *t);

/** Call `put` for each metric that comparisons have, with `to`; without a base, not at all. */
typedef void put_changes(void *to, const struct compare_request *request, enum lens_metric metric,
		const struct diff_sites *sites, struct arena *arena);
void each_compared_metric(const struct compare_request *request, put_changes *put, void *to,
		struct arena *arena);

/** The change of a number of both sides: "+3.9 MB", "-12", "0". */
enum { CHANGE_MAX = HUMAN_MAX + 1 };
const char *change_text(char text[CHANGE_MAX], const uint64_t n[N_DIFF_SIDES], bool is_bytes);

/** "+12.3 %", "< 0.1 %", "> 1000 %", "new", "gone", "": at most nine characters. */
void compare_put_share(struct buffer *out, const uint64_t n[N_DIFF_SIDES]);

/** Both, in columns of 12 characters. */
void compare_put_change(struct buffer *out, const uint64_t n[N_DIFF_SIDES], bool is_bytes);

/** What is compared with what; the verdicts, as text and for programs. */
void compare_put_head(struct buffer *out, const struct compare_request *request);
void compare_put_gates(struct buffer *out, const struct compare_request *request);
void compare_put_gates_json(struct json *j, const struct compare_request *request);
