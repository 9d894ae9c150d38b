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
	uint32_t n_notable; // the first of them: absent, or with much that is free beside them
	const struct rec_fullness *arenas;
	uint32_t n_arenas;
	uint64_t bytes[REC_PARTS];     // resident; together look->rss_bytes
	uint64_t lazy_free[REC_PARTS]; // of them given back by MADV_FREE, and not taken yet
	uint64_t asked_bytes;          // of all live blocks
	uint64_t untouched_bytes;      // of those that `untouched` tells of: not in memory
};

struct memory_look memory_look(const struct recording *r, uint32_t number);

/** The look that is shown: of those with pages, else of all, the newest of the largest. */
struct memory_look memory_at_peak(const struct recording *r);

/** The newest. */
struct memory_look memory_at_end(const struct recording *r);

/** What pointed to live blocks, as of the newest look that asked. Borrowed from the recording. */
struct memory_grades {
	const struct rec_look *look; // NULL: none did
	uint32_t number;             // row of recording.looks
	const struct rec_grade *rows;
	uint32_t n_rows;
	uint64_t bytes[REC_GRADES], blocks[REC_GRADES];
};

struct memory_grades memory_grades(const struct recording *r, uint64_t until_ns);
void memory_put_grades_json(struct json *j, const struct memory_grades *g);

/** Nothing but unreachable blocks points to it. */
static inline bool memory_is_unreachable(uint8_t grade) {
	return grade >= REC_UNREACHABLE;
}

/** What other processes of the group hold, in anonymous memory. */
static inline uint64_t memory_others_bytes(const struct rec_group *g) {
	return g->anonymous_bytes > g->own_bytes ? g->anonymous_bytes - g->own_bytes : 0;
}

/**
 * Is it known what of live blocks was not in memory? If no row tells of it, only where none lived:
 * not all blocks or pages may have been known, and a look of the past keeps no rows.
 */
static inline bool memory_knows_untouched(const struct memory_look *m) {
	return m->n_untouched > 0 || (m->look && m->look->has & REC_HAS_BLOCKS && m->asked_bytes == 0);
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

/** "main arena", "arena at 0x7f12a4000000". */
void memory_put_arena(struct buffer *out, const struct rec_fullness *arena);

/** Writes looks for programs and for the page, which say in other ways whose something is. */
struct looks_writer {
	struct json *j;
	const struct recording *r;
	void (*put_stack)(void *user, uint32_t node); // into an object
	void *user;
	// Into a list; NULL: each row of the part, with its stack
	void (*put_rows)(void *user, const struct memory_look *m, uint8_t part);
};

/** Members of an object. */
void look_put_json(const struct looks_writer *w, const struct memory_look *m);

/** Members of an object: what points to live blocks by looks, of what classes, what holds them. */
void leaks_put_json(const struct looks_writer *w);

/** A look was taken in the lens's time. */
bool memory_has_look(const struct lens *l, const struct recording *r, uint32_t look);

/** What one maker, module or file has of a part. */
struct memory_row {
	const struct name *maker; // the site that mapped it; NULL: not known
	const struct name *via;   // of a runtime: its function that mapped most of it
	// Of an interpreter that maps for its objects: what ran at half of that or more; or NULL
	const struct name *running;
	uint64_t running_bytes;
	// As in smaps, of what has no maker, and of shared memory to which its program gave one: a path
	// or "[anon:...]"; empty: none
	struct slice name;
	uint64_t bytes, lazy_free;
};

/** What neither has a maker nor a name: many small ones, and what nobody was seen to map. */
static inline bool memory_row_is_rest(const struct memory_row *row) {
	return !row->maker && row->name.size == 0;
}

/** Largest first; what has neither maker nor name is one row, the last. */
struct memory_row *memory_rows(const struct memory_look *m, uint8_t part, const struct recording *r,
		const struct names *n, struct arena *arena, uint32_t *n_rows);

/**
 * A recording in which what the lens's metric counts stands in place of blocks: mappings, by whose
 * edges it sets the lens's range; as of the newest look until the end of the range (without one, of
 * that which is shown), what was in memory of blocks and mappings, or was not in memory of blocks,
 * of which a look of the past tells nothing; as of the newest look within the range, what points
 * to blocks. Where these have grades, row i of its grades is of stack i. `r` and `arena` outlive
 * it; it is not to be finished. False: `r` does not have that.
 */
bool memory_as_recording(const struct recording *r, struct lens *l, struct arena *arena,
		struct recording *out, struct err *err);

/** False: `err` says what is wrong, and when it was looked at what points to blocks. */
bool memory_lacks_look(const struct recording *r, const char *what, struct err *err);

/** "1.235 s": a moment rounded up, so that a range that ends there has it. */
#define LOOK_MOMENT(ns) FORMAT(32, "%.3f s", (double)(((ns) + 999999) / 1000000) / 1e3)

/**
 * Make the stacks of what holds live blocks: a root stands where main would, and the site of blocks
 * is called by what leads to them. They come behind the nodes, locations and frames that there are,
 * of which names are to be made anew.
 */
void held_add_stacks(struct recording *r, const struct names *n);

/**
 * Sum up the calls that have changed memory in one way (enum wire_change). *most: those of the site
 * that has changed most, with one of its stacks; calls 0: there are none.
 */
struct rec_change memory_changes(const struct recording *r, const struct names *n, uint8_t what,
		struct arena *arena, struct rec_change *most);

/** A part for programs ("heap_live", "mapped") and for people ("live blocks"). */
extern const struct memory_part_text { const char *id, *words; } memory_part_texts[REC_PARTS];

/** A change for programs ("given-back") and for people, by enum wire_change. */
extern const struct memory_part_text memory_change_texts[];

/** "global", "thread_local" ... of enum rec_holder_kind. */
extern const char *const memory_holder_ids[REC_HOLDER_KINDS];

/** "end", "rss-peak" ... of enum rec_look_at. */
extern const char *const memory_at_ids[REC_ATS];
