// SPDX-License-Identifier: MIT
/* Says which root held much of what was live at the last look, and through which blocks. */
#include "engine/findings/parts.h"

enum { ROOTS_MOST = 2, PART = 4, LEAST_BYTES = 1 << 20, STEPS = 3 };

/** The largest holder below another one (0: root) in a look, if not mentioned yet. */
static const struct rec_holder *largest_below(const struct finder *f, uint32_t look, uint32_t above,
		const bool *is_said) {
	return MOST(h, f->r->holders,
			h->look == look && h->above == above && !is_said[h - f->r->holders.items]
					? h->retained_bytes
					: 0);
}

/** The change since the previous look, if any. */
static void say_change(struct finder *f, const struct memory_grades *g,
		const struct rec_holder *h) {
	const struct memory_grades before = memory_grades(f->r, g->look->time_ns - 1);
	const struct rec_holder *was = FIND_IN(w, f->r->holders,
			before.look && w->look == before.number && w->above == 0 && w->kind == h->kind &&
					w->name == h->name && w->mapping == h->mapping);
	if (was && h->retained_bytes != was->retained_bytes) {
		bool is_more = h->retained_bytes > was->retained_bytes;
		uint64_t bytes = is_more ? h->retained_bytes - was->retained_bytes
								 : was->retained_bytes - h->retained_bytes;
		SAY(f, ", %s %s than at %s", HUMAN_BYTES(bytes), is_more ? "more" : "less",
				HUMAN_DURATION(before.look->time_ns));
	}
}

static void say_held(struct finder *f, const struct memory_grades *g, const struct rec_holder *h,
		const bool *is_said) {
	const struct rec_holder *all = f->r->holders.items;
	const uint64_t held = SUM(i, f->r->holders.n,
			all[i].look == g->number && all[i].above == 0 ? all[i].retained_bytes : 0);
	const struct name *root = names_of(f->names, f->r->nodes.items[h->node].location).items;
	finder_about(f, root, "held");
	put_name(f, root);
	SAY(f, " holds %s in %s", HUMAN_BYTES(h->retained_bytes), COUNTED(h->retained_blocks, "block"));
	SAY(f, ", %s of what lived %s", HUMAN_PERCENT(h->retained_bytes, held),
			g->look->at == REC_AT_END ? "just before the end"
									  : FORMAT(64, "at %s", HUMAN_DURATION(g->look->time_ns)));
	say_change(f, g, h);
	const struct rec_holder *step = h, *above;
	for (int i = 0; i < STEPS; i++) {
		above = step;
		step = largest_below(f, g->number, (uint32_t)(above - all) + 1, is_said);
		if (!step || step->kind != REC_HOLDER_BLOCKS ||
				step->retained_bytes <= above->retained_bytes / 2) {
			break;
		}
		SAY(f, i == 0 ? ": by %s (%s) of " : ", by these %s (%s) of ",
				COUNTED(step->blocks, "block"), HUMAN_BYTES(step->bytes));
		put_name(f, names_of(f->names, f->r->nodes.items[step->node].location).items);
	}
	finder_put(f, "bytes", h->retained_bytes);
	finder_put(f, "blocks", h->retained_blocks);
	finder_put(f, "held_bytes", held);
	finder_say(f, FINDING_WORTH_IT, millionths(h->retained_bytes, f->r->summary.peak_bytes));
}

void find_held_by(struct finder *f) {
	const struct memory_grades g = memory_grades(f->r, UINT64_MAX);
	bool *is_said = FINDER_NEW(f, bool, f->r->holders.n);
	for (int i = 0; g.look && i < ROOTS_MOST; i++) {
		const struct rec_holder *h = largest_below(f, g.number, 0, is_said);
		bool is_much = h && h->retained_bytes >= LEAST_BYTES &&
				h->retained_bytes >= SUM(k, REC_UNREACHABLE, g.bytes[k]) / PART;
		if (is_much && h->kind < REC_HOLDER_DISGUISE) {
			say_held(f, &g, h, is_said);
		}
		is_said[h ? h - f->r->holders.items : 0] = true;
	}
}
