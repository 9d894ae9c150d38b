// SPDX-License-Identifier: MIT
#pragma once

/**
 * One segment of code, with what is known before each of its instructions. Filled by flow.c, told
 * as unwind tables by records.c.
 */

#include "base/buffer.h"
#include "injector/arch/step.h"
#include "injector/find/code_map.h"
#include "injector/space.h"

enum { FLOW_PAGE = 4096 };

/** Of places. */
enum {
	FLOW_BEGIN = 1,     // a function begins there
	FLOW_COLD = 2,      // the seldom used part of a function, which is jumped to
	FLOW_NO_RETURN = 4, // what begins there never comes back
};

struct flow_place {
	uint64_t at;
	struct frame_row row;
	bool is_forced; // what was noted there is wrong
};

struct flow {
	const struct module_code *module;
	struct code_map tables; // functions that have unwind tables
	uint64_t start, end;    // of the code, as the file counts
	const uint8_t *code;
	struct frame_row *rows; // one per byte
	uint8_t *marks;         // likewise: FLOW_BEGIN...
	uint8_t *pages;         // is anything noted in that page of code?
	uint64_t patience;      // instructions that may still be looked at
	struct {
		struct flow_place *items;
		size_t n, capacity;
	} begins, places;
};

static const struct frame_row flow_entry = {.sp = STEP_ENTRY_SP};

static inline bool flow_is_inside(const struct flow *f, uint64_t at) {
	return at >= f->start && at < f->end;
}

bool flow_row_is_same(const struct frame_row *a, const struct frame_row *b);

/** Do unwind tables cover that address? */
bool flow_has_tables(const struct flow *f, uint64_t at);

/** Note functions' beginnings and kinds, then follow all ways from there. */
void flow_mark(struct flow *f, uint64_t at, unsigned marks);
void flow_add_begin(struct flow *f, uint64_t at);
void flow_follow(struct flow *f);

/** Add what was noted as records like those of .eh_frame, behind a common one if `out` is empty. */
void flow_put_records(struct buffer *out, const struct flow *f);
