// SPDX-License-Identifier: MIT
/* Says what no pointer led to at the last look that examined it, by site. */
#include "engine/findings/parts.h"

enum { SITES_MOST = 3, MANY_BLOCKS = 100, MANY_BYTES = 64000 };

struct lost {
	uint64_t blocks, bytes, owned_blocks, owned_bytes;
	bool is_cycle;        // all are
	uint64_t held_before; // the place's blocks at the previous look
	bool was_lost_before; // some were
};

static struct lost *lost_of(const struct finder *f, struct lost *sums, uint32_t stack) {
	const uint32_t place = f->place_of[stack];
	return &sums[FIND_IN(s, f->r->suppressed, s->stack == stack) ? f->n_places + 1
					: place < f->n_places                        ? place
																 : f->n_places];
}

/** By place; then what has none, and what is suppressed. */
static struct lost *lost_by_place(struct finder *f, const struct memory_grades *g,
		const struct memory_grades *before) {
	struct lost *sums = FINDER_NEW(f, struct lost, f->n_places + 1);
	EACH_OF(row, before->rows, before->n_rows) {
		struct lost *sum = lost_of(f, sums, row->stack);
		sum->held_before += row->blocks;
		sum->was_lost_before |= memory_is_unreachable(row->grade);
	}
	EACH_OF(row, g->rows, g->n_rows) {
		struct lost *sum = lost_of(f, sums, row->stack);
		if (row->grade == REC_UNREACHABLE || row->grade == REC_CYCLE) {
			sum->is_cycle = row->grade == REC_CYCLE && (sum->is_cycle || sum->blocks == 0);
			ADD_FIELDS(sum, row, blocks, bytes, owned_blocks, owned_bytes);
		}
	}
	return sums;
}

/** By stack. */
static const uint64_t *lost_bytes(struct finder *f, const struct memory_grades *g) {
	uint64_t *bytes = FINDER_NEW(f, uint64_t, f->r->stacks.n);
	EACH_OF(row, g->rows, g->n_rows) {
		bool is_lost = row->grade == REC_UNREACHABLE || row->grade == REC_CYCLE;
		bytes[row->stack] += is_lost ? row->bytes + row->owned_bytes : 0;
	}
	return bytes;
}

static void put_blocks(struct finder *f, uint64_t blocks, uint64_t bytes) {
	SAY(f, "%s (%s)", COUNTED(blocks, "block"), HUMAN_BYTES(bytes));
}

static void say_lost(struct finder *f, const struct place *p, const struct lost *lost,
		const uint64_t *of_stacks, const struct rec_look *before) {
	const uint64_t blocks = lost->blocks + lost->owned_blocks;
	const uint64_t bytes = lost->bytes + lost->owned_bytes;
	const bool is_one = lost->blocks == 1;
	(void)say_place(f, p, BY_LIVE_BYTES, "unreachable", "", of_stacks);
	SAY(f, ": ");
	if (lost->is_cycle) {
		SAY(f, is_one ? "a cycle of " : "cycles, all in all ");
		put_blocks(f, blocks, bytes);
		SAY(f, " that nothing else points to");
	} else {
		put_blocks(f, lost->blocks, lost->bytes);
		SAY(f, " that nothing points to");
	}
	if (!lost->is_cycle && lost->owned_blocks > 0) {
		SAY(f, ", and ");
		put_blocks(f, lost->owned_blocks, lost->owned_bytes);
		SAY(f, is_one ? " that only it leads to" : " that only they lead to");
	}
	if (lost->held_before > 0 && !lost->was_lost_before) { // exit handlers lose it, too
		SAY(f, "; at %s a pointer was found to each of its %s", HUMAN_DURATION(before->time_ns),
				COUNTED(lost->held_before, "block"));
		finder_put(f, "held_before", lost->held_before);
	}
	FINDER_PUT_VALUES(f, blocks, bytes);
	FINDER_PUT(f, lost, owned_blocks, owned_bytes);
	bool is_many = blocks >= MANY_BLOCKS || bytes >= MANY_BYTES;
	finder_say(f, is_many ? FINDING_LOOK_FIRST : FINDING_WORTH_IT,
			millionths(bytes, f->r->summary.peak_bytes));
}

/** What has no site. */
static void say_other(struct finder *f, const struct lost *lost, const char *what) {
	const uint64_t blocks = lost->blocks + lost->owned_blocks;
	const uint64_t bytes = lost->bytes + lost->owned_bytes;
	if (blocks > 0) {
		SAY(f, "%s (%s) %s %s", COUNTED(blocks, "unreachable block"), HUMAN_BYTES(bytes),
				blocks == 1 ? "is" : "are", what);
		FINDER_PUT_VALUES(f, blocks, bytes);
		finder_say(f, FINDING_FACT, 0);
	}
}

static void say_none(struct finder *f, const struct memory_grades *g) {
	uint64_t blocks = SUM(grade, REC_GRADES, g->blocks[grade]);
	SAY(f, "a pointer was found to %s live %s",
			blocks == 1 ? "the only block that was"
						: FORMAT(64, "each of the %s blocks that were", HUMAN_COUNT(blocks)),
			g->look->at == REC_AT_END ? "just before the end"
									  : FORMAT(64, "at %s", HUMAN_DURATION(g->look->time_ns)));
	finder_put(f, "blocks", 0);
	finder_put(f, "bytes", 0);
	finder_say(f, FINDING_FACT, 0);
}

void find_unreachable(struct finder *f) {
	const struct memory_grades g = memory_grades(f->r, UINT64_MAX);
	const struct memory_grades before = memory_grades(f->r, g.look ? g.look->time_ns - 1 : 0);
	if (!g.look) {
		return;
	}
	struct lost *sums = lost_by_place(f, &g, &before);
	const uint64_t *of_stacks = lost_bytes(f, &g);
	if (g.blocks[REC_UNREACHABLE] + g.blocks[REC_CYCLE] == 0 && g.n_rows > 0) {
		say_none(f, &g);
	}
	for (int i = 0; i < SITES_MOST; i++) {
		struct lost *best = MOST_OF(s, sums, f->n_places, s->bytes + s->owned_bytes + s->blocks);
		if (best) {
			say_lost(f, &f->places[best - sums], best, of_stacks, before.look);
			*best = (struct lost){0};
		} else if (i == 0) {
			say_other(f, &sums[f->n_places], "of call stacks without any function that is known");
			say_other(f, &sums[f->n_places + 1], "suppressed");
		}
	}
}
