// SPDX-License-Identifier: MIT
#pragma once

/**
 * One segment of code, with what is known before each of its instructions.
 *
 * frames.c fills it, records.c writes it as unwind tables.
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
	VEC(struct flow_place) begins, places;
};

static const struct frame_row flow_entry = {.sp = STEP_ENTRY_SP};

static inline bool flow_is_inside(const struct flow *f, uint64_t at) {
	return at >= f->start && at < f->end;
}

static inline bool flow_row_is_same(const struct frame_row *a, const struct frame_row *b) {
	return a->sp == b->sp && a->bp == b->bp && a->bp_at == b->bp_at && a->is_end == b->is_end;
}

/** Add what was noted as records like those of .eh_frame, behind a common one if `out` is empty. */
void flow_put_records(struct buffer *out, const struct flow *f);
