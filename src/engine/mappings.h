// SPDX-License-Identifier: MIT
#pragma once
/**
 * What the program has mapped: which addresses, by which stack, and how much at any time; the
 * counterpart of aggregate.h for calls that map. Single-threaded; uses no files, clocks or
 * processes.
 *
 * Definitions:
 *  - A mapping is what one call mapped. Later calls that unmap its pages or map over them shrink
 *    it, and it ends with its last page. An exec unmaps everything.
 *  - A mapping that mremap grew or moved is a new one, made by that call; the old one is unmapped.
 *    One that mremap only shrank stays.
 *  - A call that was to unmap and failed maps what its thread last unmapped again, for the same
 *    stack, as another mapping.
 *  - KIND_UNMAP of WIRE_MAP_SHM ends all that is left of what one shmat mapped at that address.
 *  - peak, edges, intervals and moments are as in aggregate.h, with mapped instead of live bytes,
 *    on a time axis of their own. "allocations" of an edge are mappings.
 *  - Mapped bytes are whole pages of addresses, resident or not.
 *  - A change is a call that gives back what a range held, or locks it (enum wire_change), summed
 *    up by stack. It ends no mapping, and may lie in an unknown one.
 *  - What was mapped before the recording, or by means other than wire/mappings.def lists, is not
 *    known: unmapping it changes nothing.
 */

#include "trace/trace.h"

/** `page_bytes`: the machine's. */
struct mappings *mappings_create(uint64_t page_bytes);
void mappings_destroy(struct mappings *m);

/** Process a KIND_MAP, KIND_UNMAP or KIND_CHANGED; low bits of `ptr` are its wire_map_sort(). */
void mappings_event(struct mappings *m, const struct trace_event *event);

/** All in that range is unmapped. `is_left`: by the end of its process, so it never was. */
void mappings_end(struct mappings *m, uint64_t start, uint64_t end, uint64_t now_ns, bool is_left);

/** Pages that are mapped now, by one call and with one protection. */
struct mapped_range {
	uint64_t start, end;
	uint64_t born_ns; // when they were mapped
	uint32_t node;    // the caller's id of the stack that mapped them
	uint32_t mapping; // its row of recording.mappings, in every snapshot from now on
	uint32_t sort;    // wire_map_sort() as of now
};

/**
 * Visit all of them by rising address. They do not overlap; neighbours may differ only in the call
 * that mapped them. `visit` must not change `m`.
 */
void mappings_each(const struct mappings *m,
		void (*visit)(void *user, const struct mapped_range *range), void *user);

/** Nothing was mapped until now: later events count as of `now_ns` at the earliest. */
void mappings_until(struct mappings *m, uint64_t now_ns);

/**
 * Write the state as of `now_ns` into `out`: mappings (with `node`), mapping_edges,
 * mapping_intervals, ranges, changes, and their part of the summary. Arrays go to out->arena.
 */
void mappings_snapshot(const struct mappings *m, uint64_t now_ns, struct recording *out);
