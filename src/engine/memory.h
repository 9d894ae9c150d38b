// SPDX-License-Identifier: MIT
#pragma once
/**
 * Where resident memory went, by a recording's looks, for report, JSON, gates and findings alike.
 */

#include "engine/lens.h"

/** A look with its parts. Borrowed from the recording. */
struct memory_look {
	const struct rec_look *look; // or NULL
	uint32_t number;             // row of recording.looks
	const struct rec_part *rows; // of all parts, those of one part adjacent
	uint32_t n_rows;
	const struct rec_group *group;         // NULL: no control group limits it
	const struct rec_untouched *untouched; // by stack
	uint32_t n_untouched;
	uint32_t n_notable; // the first of them: absent, or with much free memory beside them
	const struct rec_fullness *arenas;
	uint32_t n_arenas;
	uint64_t bytes[REC_PARTS];     // resident; they add up to look->rss_bytes
	uint64_t lazy_free[REC_PARTS]; // of them given back by MADV_FREE but not yet reclaimed
	uint64_t asked_bytes;          // of all live blocks
	uint64_t untouched_bytes;      // of the blocks in `untouched`: not in memory
};

struct memory_look memory_look(const struct recording *r, uint32_t number);

/** The look to show: the newest of the largest among those with pages, else among all. */
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

/** Do only unreachable blocks point to it? */
static inline bool memory_is_unreachable(uint8_t grade) {
	return grade >= REC_UNREACHABLE;
}

/** What other processes of the group hold in anonymous memory. */
static inline uint64_t memory_others_bytes(const struct rec_group *g) {
	return g->anonymous_bytes > g->own_bytes ? g->anonymous_bytes - g->own_bytes : 0;
}

/**
 * Is it known which live bytes were not in memory? Without rows, only if nothing was live: not all
 * blocks or pages may have been known, and older looks keep no rows.
 */
static inline bool memory_knows_untouched(const struct memory_look *m) {
	return m->n_untouched > 0 || (m->look && m->look->has & REC_HAS_BLOCKS && m->asked_bytes == 0);
}

/** Does this row of memory_look.untouched tell of absent blocks, not only of pages? */
static inline bool memory_is_absent(const struct rec_untouched *u) {
	return u->asked_bytes - u->resident_bytes >= 4096;
}

/**
 * "97.1 MB of 100.0 MB, of that 12.0 MB other processes, 2.0 MB page cache": what is used of the
 * limit, and what others than the process use, if it is at least a hundredth of the limit.
 */
void memory_put_group(struct buffer *out, const struct rec_group *g);

/** "main arena", "arena at 0x7f12a4000000". */
void memory_put_arena(struct buffer *out, const struct rec_fullness *arena);

/** Writes looks for --json and for the page, which name stacks and owners differently. */
struct looks_writer {
	struct json *j;
	const struct recording *r;
	void (*put_stack)(void *user, uint32_t node); // into an object
	void *user;
	// Into a list; NULL: write each row of the part, with its stack
	void (*put_rows)(void *user, const struct memory_look *m, uint8_t part);
};

/** Members of an object. */
void look_put_json(const struct looks_writer *w, const struct memory_look *m);

/** Members of an object: what points to live blocks, by look; their classes; what holds them. */
void leaks_put_json(const struct looks_writer *w);

/** Was this look taken within the lens's range? */
bool memory_has_look(const struct lens *l, const struct recording *r, uint32_t look);

/** What one maker, module or file has of a part. */
struct memory_row {
	const struct name *maker; // the site that mapped it; or NULL
	const struct name *via;   // of a runtime: its function that mapped most of it
	// For an interpreter's own mappings: what was running for at least half of it; or NULL
	const struct name *running;
	uint64_t running_bytes;
	// As in smaps, for what has no maker, and for shared memory that the program named: a path or
	// "[anon:...]"; empty: none
	struct slice name;
	uint64_t bytes, lazy_free;
};

/** Is this the row without maker and name: many small ones, and what nobody was seen to map? */
static inline bool memory_row_is_rest(const struct memory_row *row) {
	return !row->maker && row->name.size == 0;
}

/** Largest first; what has neither maker nor name is one row, the last. */
struct memory_row *memory_rows(const struct memory_look *m, uint8_t part, const struct recording *r,
		const struct names *n, struct arena *arena, uint32_t *n_rows);

/**
 * A recording whose blocks are replaced by what the lens's metric counts: mappings, setting the
 * lens's range by their edges; resident bytes of blocks and mappings, or absent bytes of blocks
 * (not known of older looks), as of the newest look before the end of the range, or without a range
 * the one to show; or what points to blocks, as of the newest look in the range. Row i of its
 * grades, if any, is of stack i. `r` and `arena` must outlive it; do not finish it. False: `r` has
 * no such data.
 */
bool memory_as_recording(const struct recording *r, struct lens *l, struct arena *arena,
		struct recording *out, struct err *err);

/** Returns false; `err` says what is wrong, and when looks examined what points to blocks. */
bool memory_lacks_look(const struct recording *r, const char *what, struct err *err);

/** "1.235 s": a moment rounded up, so that a range that ends there includes it. */
#define LOOK_MOMENT(ns) FORMAT(32, "%.3f s", (double)(((ns) + 999999) / 1000000) / 1e3)

/**
 * Add stacks for what holds live blocks: a root stands in main's place, and the site of blocks is
 * named after what leads to them. Appends to nodes, locations and frames; names must be made anew.
 */
void held_add_stacks(struct recording *r, const struct names *n);

/**
 * Sum up the calls that changed memory in one way (enum wire_change). *most: those of the site that
 * changed most, with one of its stacks; calls 0: there are none.
 */
struct rec_change memory_changes(const struct recording *r, const struct names *n, uint8_t what,
		struct arena *arena, struct rec_change *most);

/** A part for programs ("heap_live", "mapped") and for people ("live blocks"). */
extern const struct memory_part_text { const char *id, *words; } memory_part_texts[REC_PARTS];

/** A change for programs ("given-back") and for people, by enum wire_change. */
extern const struct memory_part_text memory_change_texts[];

/** "global", "thread_local" ..., by enum rec_holder_kind. */
extern const char *const memory_holder_ids[REC_HOLDER_KINDS];

/** "end", "rss-peak" ..., by enum rec_look_at. */
extern const char *const memory_at_ids[REC_ATS];
