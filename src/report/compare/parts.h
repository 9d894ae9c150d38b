// SPDX-License-Identifier: MIT
#pragma once

// What the ways to write a comparison share. Private to report/.

#include "base/json.h"
#include "report/compare.h"

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
bool totals_of(const struct compare_request *request, struct arena *arena,
		struct total out[N_TOTALS], struct err *err);

/** Sites of one metric that differ, largest first. With no base: none. */
bool changed_sites(const struct compare_request *request, enum lens_metric metric,
		struct arena *arena, struct diff_sites *out, uint32_t *n_changed, struct err *err);

/** "+3.9 MB", "-12", "0". */
void compare_put_change(struct buffer *out, int64_t delta, bool is_bytes);

/** "+12.3 %", "new", "gone", "". */
void compare_put_share(struct buffer *out, uint64_t ours, uint64_t base);

/** "makeRow() app.cpp:12", and who calls it. */
void compare_put_site(struct buffer *out, const struct diff_site *site, struct arena *arena);

/** What is compared with what; the verdicts, as text and for programs. */
void compare_put_head(struct buffer *out, const struct compare_request *request);
void compare_put_gates(struct buffer *out, const struct compare_request *request);
void compare_put_gates_json(struct json *j, const struct compare_request *request);

/** No spaces at a line's end. */
void compare_trim(struct buffer *out);
