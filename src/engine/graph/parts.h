// SPDX-License-Identifier: MIT
#pragma once
/** What the files of the graph share. */

#include "base/parallel.h"
#include "engine/graph.h"
#include "engine/graph/dominators.h"
#include "engine/parts/owners.h"

/** Memory that holds what its words point to. */
struct source {
	uint64_t start, end;
	struct graph_root root; // of a root; root.at is the area's
	uint32_t block;         // or NO_BLOCK
	bool is_libcs;          // the C library's variables, which include lists of free chunks
};
#define NO_BLOCK UINT32_MAX

struct sources {
	VEC(struct source);
};

/** The resident memory of roots, by rising address. */
void roots_find(const struct graph_input *in, const struct live_blocks *blocks,
		struct sources *out);

/** Numbers too large for their field are stored as its maximum. */
struct edge {
	uint32_t block;
	uint16_t inside;   // offset in bytes
	uint16_t word : 7; // of the source
	uint16_t is_rare : 1;
};

enum { WAITING = 256 };
struct waiting {
	uint64_t word;
	uint32_t source;
	uint32_t of_source; // edge.word
};

/** The sources that one thread reads. */
struct part {
	size_t begin, end;  // sources
	uint32_t source;    // the one being read
	struct edge *edges; // in their own pages, with room for one per word
	size_t n_edges, edges_bytes;
	VEC(uint32_t) found;     // blocks, by pass 3; or class rows of one block
	struct map words;        // that may belong to classes
	uint64_t *objects;       // by class, in arenas; NULL: still collecting words
	uint32_t head;           // the class of the block's first word, as class_of
	struct waiting *waiting; // WAITING words, in order, that may point to blocks
	uint32_t n_waiting;
	uint8_t *window; // memory at window_at, WINDOW_BYTES; 0: none
	uint64_t window_at;
	bool is_unread; // some could not be read
};

struct marking {
	const struct graph_input *in;
	struct live_blocks blocks;
	VEC(uint64_t) doubtful; // starts of blocks that are held in any case
	struct sources roots;   // sources are these, then the blocks

	// Maps an address to its block, by 4 MiB from the first on
	uint64_t low, high;
	struct chunk **leaves;
	struct arena chunks;

	size_t *first; // per source, its first edge in those of its part; while reading, their number
	struct part parts[PARALLEL_MOST];
	unsigned n_parts;

	uint8_t *grades;    // per block
	uint32_t *class_of; // per block: 1 + its row of graph.classes; 0: not known
	const struct class_words *words;
	uint32_t *queue; // marked blocks; those from `at` on are still to be followed
	size_t n_queued, at;
	struct holding *holding; // while root words are collected
};

static inline size_t n_sources(const struct marking *m) {
	return m->roots.n + m->blocks.n;
}

static inline struct source source_of(const struct marking *m, size_t i) {
	if (i < m->roots.n) {
		return m->roots.items[i];
	}
	const struct live_block *b = &m->blocks.items[i - m->roots.n];
	return (struct source){b->start, b->start + b->bytes, {0}, (uint32_t)(i - m->roots.n), false};
}

/** Run a part per thread. False: some memory could not be read. */
static inline bool run_parts(struct marking *m, void (*work)(void *marking, unsigned part)) {
	parallel_run(m->n_parts, work, m);
	return ALL(k, m->n_parts, !m->parts[k].is_unread);
}

/** Find blocks and roots, and read them into edges. False: some could not be read. */
bool edges_read(struct marking *m);
void edges_finish(struct marking *m);

/** The block that a word of the source points to, other than the source itself; or NO_BLOCK. */
uint32_t edges_target(const struct marking *m, const struct source *s, uint64_t word);

static inline bool edges_may_be_block(const struct marking *m, uint64_t word) {
	return word - m->low <= m->high - m->low;
}

/** The block that any word points to, or NO_BLOCK. */
uint32_t edges_block_of(const struct marking *m, uint64_t word);

/** Examines a piece of a source's memory, which begins at `at`. */
typedef void take_piece(struct marking *m, struct part *p, const struct source *s, uint64_t at,
		const uint8_t *memory, size_t bytes);

/** `is_any`: words may begin at any byte, so pieces overlap. Sets is_unread on failure. */
void edges_read_source(struct marking *m, struct part *p, const struct source *s, bool is_any,
		take_piece *take);

/** False: some memory could not be read. */
bool classes_find(struct marking *m, struct graph *out);

/** Call when all are graded and have classes. False: some memory could not be read. */
bool holders_find(struct marking *m, struct graph *out);

/**
 * Find the root vertices that reach at least half of the bytes that none of them dominates, among a
 * few candidates; best first, then 0. Drops edges between them.
 */
void sharers_find(struct flow *g, const struct dominators *d, const struct live_blocks *blocks,
		uint32_t out[static GRAPH_SHARERS]);

enum { WORD = 8, WORDS_APART = 64 }; // fields of larger blocks are all one

#define EACH_EDGE(e, m, source)                                                                  \
	for (const struct part *part_ = part_of((m), (source)); part_; part_ = NULL)                 \
		for (struct edge *e = part_->edges + (m)->first[source],                                 \
						 *behind_ = part_->edges +                                               \
						((source) + 1 < part_->end ? (m)->first[(source) + 1] : part_->n_edges); \
				e < behind_; e++)

static inline const struct part *part_of(const struct marking *m, size_t source) {
	const struct part *p = m->parts;
	while (source >= p->end) {
		p++;
	}
	return p;
}
