// SPDX-License-Identifier: MIT
#pragma once
/**
 * What the program has mapped: which range of addresses, by which stack, and how much at any time.
 * The counterpart of aggregate.h for calls that map. One thread. It uses no files, clocks or
 * processes.
 *
 * Definitions:
 *  - a mapping is what one call has mapped. It is unmapped as far as later calls unmap its pages or
 *    map others in their place, and ends with its last page. An exec unmaps all.
 *  - a mapping that mremap grew, moved or put at another place is a new one, made by that call; the
 *    old one is unmapped. One that mremap has only made smaller stays.
 *  - a call that was to unmap and failed leaves what its thread has last unmapped to the same
 *    stack, as another mapping.
 *  - KIND_UNMAP of WIRE_MAP_SHM ends what one shmat has mapped at that address: all that is left.
 *  - peak, edges, intervals and moments are as in aggregate.h, with mapped bytes in place of live
 *    ones, but on a time axis of their own. "allocations" of an edge are mappings.
 *  - mapped bytes are whole pages of addresses. They say nothing of what is resident.
 *  - a change is a call that gives back what a range held, or locks it (enum wire_change): what the
 *    calls of one stack did is summed up. It ends no mapping, and may lie in one that is not known.
 *  - what was mapped before the recording, or by other ways than wire/mappings.def has, is not
 *    known: unmapping it changes nothing.
 */

#include "trace/trace.h"

/** `page_bytes`: of the machine. */
struct mappings *mappings_create(uint64_t page_bytes);
void mappings_destroy(struct mappings *m);

/**
 * A call that maps: `kind` is KIND_MAP, KIND_UNMAP or KIND_CHANGED of wire/event.h, the low bits of
 * `ptr` its wire_map_sort().
 */
void mappings_event(struct mappings *m, const struct trace_event *event);

/** The process image was replaced: everything is unmapped. */
void mappings_exec(struct mappings *m, uint64_t now_ns);

/** Pages that are mapped now, by one call and with one protection. */
struct mapped_range {
	uint64_t start, end;
	uint64_t born_ns; // when they were mapped
	uint32_t node;    // the caller's id of the stack that mapped them
	uint32_t mapping; // row of recording.mappings, of that stack, in every snapshot from now on
	uint32_t sort;    // wire_map_sort() as of now
};

/**
 * All of them by rising address; they do not overlap. `visit` changes nothing of `m`. Two
 * neighbours may differ in nothing but that two calls have mapped them.
 */
void mappings_each(const struct mappings *m,
		void (*visit)(void *user, const struct mapped_range *range), void *user);

/** Nothing was mapped since the last event: later ones count as of `now_ns` at least. */
void mappings_until(struct mappings *m, uint64_t now_ns);

/**
 * Write the state as of `now_ns` into `out`: mappings (with `node`), mapping_edges,
 * mapping_intervals, ranges, changes, and their part of the summary. Arrays go to out->arena.
 * Nothing of `m` changes.
 */
void mappings_snapshot(const struct mappings *m, uint64_t now_ns, struct recording *out);
