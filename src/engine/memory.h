// SPDX-License-Identifier: MIT
#pragma once
/**
 * Where resident memory went, by the looks of a recording. The report, JSON, gates and findings
 * choose looks and sum up their parts here, so that they cannot disagree.
 */

#include "engine/lens.h"

/** A look with its parts. Borrowed from the recording. */
struct memory_look {
	const struct rec_look *look; // NULL: there is none
	uint32_t number;             // row of recording.looks
	const struct rec_part *rows; // of all parts, those of one part behind each other
	uint32_t n_rows;
	const struct rec_group *group;         // NULL: no control group limits it
	const struct rec_untouched *untouched; // by stack
	uint32_t n_untouched;
	uint32_t n_notable;        // the first of them: absent, or with much that is free beside them
	uint64_t bytes[REC_PARTS]; // resident; together look->rss_bytes
	uint64_t lazy_free[REC_PARTS]; // of them given back by MADV_FREE, and not taken yet
	uint64_t asked_bytes;          // of all live blocks
	uint64_t untouched_bytes;      // of those that `untouched` tells of: not in memory
};

struct memory_look memory_look(const struct recording *r, uint32_t number);

/** The look that is shown: of those with pages, else of all, the newest of the largest. */
struct memory_look memory_at_peak(const struct recording *r);

/** The newest. */
struct memory_look memory_at_end(const struct recording *r);

/** What other processes of the group hold, in anonymous memory. */
static inline uint64_t memory_others_bytes(const struct rec_group *g) {
	return g->anonymous_bytes > g->own_bytes ? g->anonymous_bytes - g->own_bytes : 0;
}

/** A row of memory_look.untouched tells of blocks that were not in memory, not of pages alone. */
static inline bool memory_is_absent(const struct rec_untouched *u) {
	return u->asked_bytes - u->resident_bytes >= 4096;
}

/**
 * "97.1 MB of 100.0 MB, of that 12.0 MB other processes, 2.0 MB page cache": what is used of the
 * limit, and by whom but the process itself, if it is a hundredth of the limit or more.
 */
void memory_put_group(struct buffer *out, const struct rec_group *g);

/** A look was taken in the lens's time. */
bool memory_has_look(const struct lens *l, const struct recording *r, uint32_t look);

/** What one maker, module or file has of a part. */
struct memory_row {
	const struct name *maker; // the site that mapped it; NULL: not known
	const struct name *via;   // of a runtime: its function that mapped most of it
	// Of an interpreter that maps for its objects: what ran at half of that or more; or NULL
	const struct name *running;
	uint64_t running_bytes;
	struct slice name; // as in smaps, of what has no maker: a path or "[anon:...]"; empty: none
	uint64_t bytes, lazy_free;
};

/** What neither has a maker nor a name: many small ones, and what nobody was seen to map. */
static inline bool memory_row_is_rest(const struct memory_row *row) {
	return !row->maker && row->name.size == 0;
}

/** Largest first; what has neither maker nor name is one row, the last. NULL: no memory. */
struct memory_row *memory_rows(const struct memory_look *m, uint8_t part, const struct recording *r,
		const struct names *n, struct arena *arena, uint32_t *n_rows);

/**
 * A recording in which what a metric counts stands in place of blocks: mappings, or, as of the
 * newest look until `until_ns` (UINT64_MAX: of that which is shown), what was in memory of blocks
 * and mappings, or was not in memory of blocks. `r` and `arena` outlive it; it is not to be
 * finished. False: `r` does not have that.
 */
bool memory_as_recording(const struct recording *r, enum lens_metric metric, uint64_t until_ns,
		struct arena *arena, struct recording *out, struct err *err);

/** A part for programs ("heap_live", "mapped") and for people ("live blocks"). */
extern const struct memory_part_text { const char *id, *words; } memory_part_texts[REC_PARTS];

/** "end", "rss-peak" ... of enum rec_look_at. */
extern const char *const memory_at_ids[REC_ATS];
