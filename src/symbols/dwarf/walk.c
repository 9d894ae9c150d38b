// SPDX-License-Identifier: MIT
/*
 * Walks down a unit's tree once, for all its wanted addresses.
 *
 *   compile unit
 *     namespace              always entered
 *       subprogram           entered if it holds a wanted pc: it becomes the pc's owner
 *         lexical block      always entered
 *           inlined call     entered if it holds a pc of the owner: a link of the pc's chain
 *           call             kept if it says what it allocates
 *
 * The first unit whose subprogram holds a pc owns it: linkers leave debug data of discarded copies
 * that point to the kept one, so a pc may be in dozens of units. The walk is depth first, outer
 * before inner; new links go in front, so a pc's chain begins with the innermost call.
 */
#include "symbols/dwarf/unit.h"

enum { DEPTH_MAX = 1000 }; // damaged data could nest without end

struct walk walk_init(const uint64_t *pcs, size_t n) {
	return (struct walk){.pcs = pcs, .n = n, .found = memory_new(n, sizeof(struct walked))};
}

void walk_finish(struct walk *w) {
	free(w->found);
	CALL_FOR(vec_finish, w, links, claimed);
	*w = (struct walk){0};
}

void walk_next_unit(struct walk *w) {
	EACH(i, w->claimed) {
		w->found[*i].head = w->found[*i].call = 0;
	}
	w->claimed.n = 0;
	w->links.n = 0;
}

bool walk_wants(const struct walk *w, struct die_range range) {
	size_t i = sorted_first(w->pcs, w->n, range.start);
	return SOME(i < w->n && w->pcs[i] < range.end, !w->found[i++].owner);
}

/** Put a link in front of a chain. */
static void add_link(struct walk *w, uint32_t *head, const Dwarf_Die *die, uint32_t depth) {
	struct chain_link link = {.die = *die, .outer = *head, .depth = depth};
	(void)vec_add(&w->links, link);
	*head = (uint32_t)w->links.n;
}

/** Enter a subprogram with a free pc, or a call with a pc of `owner`; the owner, 0: not entered. */
static uint32_t enter(struct walk *w, const struct unit *unit, Dwarf_Die *die, uint32_t owner,
		uint32_t depth) {
	const uint32_t own = owner ? owner : w->n_subprograms + 1;
	bool holds = false;
	struct die_facts facts = die_facts(die);
	struct die_ranges ranges = die_ranges_init(unit, die, &facts);
	struct die_range r;
	while (die_ranges_next(&ranges, &r)) {
		for (size_t i = sorted_first(w->pcs, w->n, r.start); i < w->n && w->pcs[i] < r.end; i++) {
			if (w->found[i].owner != owner) {
				continue;
			}
			if (!owner) {
				(void)vec_add(&w->claimed, (uint32_t)i);
				w->found[i].owner = own;
				add_link(w, &w->found[i].head, die, 0);
				holds = true;
			} else if (w->links.items[w->found[i].head - 1].depth < depth) {
				// Of two adjacent calls that claim a pc the first gets it
				add_link(w, &w->found[i].head, die, depth);
				holds = true;
			}
		}
	}
	w->n_subprograms += !owner && holds;
	return holds ? own : 0;
}

/** Keep a call by its return address; a frame's pc is one less. */
static void keep_call(struct walk *w, Dwarf_Die *die, uint32_t owner) {
	struct die_facts facts = die_facts(die);
	Dwarf_Addr end = 0;
	if (!facts.low.form || dwarf_formaddr(&facts.low, &end) != 0) {
		return;
	}
	for (size_t i = sorted_first(w->pcs, w->n, end - 1); i < w->n && w->pcs[i] < end; i++) {
		if (w->found[i].owner == owner && !w->found[i].call) {
			add_link(w, &w->found[i].call, die, 0);
		}
	}
}

static void walk_children(struct walk *w, const struct unit *unit, Dwarf_Die *parent,
		uint32_t owner, uint32_t depth, bool is_full);

static void visit(struct walk *w, const struct unit *unit, Dwarf_Die *die, uint32_t owner,
		uint32_t depth, bool is_full) {
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		owner = enter(w, unit, die, 0, depth);
		if (owner || is_full) {
			walk_children(w, unit, die, owner, depth, is_full);
		}
		break;
	case DW_TAG_inlined_subroutine:
		if (owner && enter(w, unit, die, owner, depth)) {
			walk_children(w, unit, die, owner, depth, is_full);
		}
		break;
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
		if (owner && dwarf_hasattr(die, DW_AT_LLVM_alloc_type)) {
			keep_call(w, die, owner);
		}
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_namespace:
	case DW_TAG_module: walk_children(w, unit, die, owner, depth, is_full); break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		if (is_full) {
			walk_children(w, unit, die, 0, depth, is_full);
		}
		break;
	default: break;
	}
}

static void walk_children(struct walk *w, const struct unit *unit, Dwarf_Die *parent,
		uint32_t owner, uint32_t depth, bool is_full) {
	Dwarf_Die die;
	if (depth >= DEPTH_MAX || dwarf_child(parent, &die) != 0) {
		return;
	}
	Dwarf_Off offset;
	Dwarf_Die next;
	bool more;
	do {
		visit(w, unit, &die, owner, depth + 1, is_full);
		offset = dwarf_dieoffset(&die);
		more = dwarf_siblingof(&die, &next) == 0 && dwarf_dieoffset(&next) > offset;
		die = next;
	} while (more);
}

void walk_unit(struct walk *w, const struct unit *unit, bool is_full) {
	Dwarf_Die root = unit->tree_die;
	walk_children(w, unit, &root, 0, 0, is_full);
}
