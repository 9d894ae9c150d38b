// SPDX-License-Identifier: MIT
#pragma once
/** What the files of the graph share. */

#include "base/arena.h"
#include "base/parallel.h"
#include "engine/graph.h"
#include "engine/graph/dominators.h"
#include "engine/parts/owners.h"

/** Memory that holds what its words point to. */
struct source {
	uint64_t start, end;
	struct graph_root root; // of a root; its `at` is that of the area
	uint32_t block;         // or NO_BLOCK
	bool is_libcs;          // variables of the C library: lists of free chunks are among them
};
#define NO_BLOCK UINT32_MAX

struct sources {
	VEC(struct source);
};

/** The roots in memory, by rising address, as far as it is resident. */
void roots_find(const struct graph_input *in, const struct live_blocks *blocks,
		struct sources *out);

/** Numbers that are too large for their field are its largest one. */
struct edge {
	uint32_t block;
	uint16_t inside;   // bytes from its start
	uint16_t word : 7; // of the source
	uint16_t is_rare : 1;
};

enum { WAITING = 256 };
struct waiting {
	uint64_t word;
	uint32_t source;
	uint32_t of_source; // edge.word
};

/** Sources that one thread reads. */
struct part {
	size_t begin, end;  // sources
	uint32_t source;    // the one that is read
	struct edge *edges; // in pages of their own, room for one in each word
	size_t n_edges, edges_bytes;
	VEC(uint32_t) found;     // blocks, by pass 3; rows of classes, of one block
	struct map words;        // that may be of classes
	uint64_t *objects;       // by class: in arenas. NULL: words are yet to be found
	uint32_t head;           // the class of the block's first word, as class_of
	struct waiting *waiting; // WAITING words, in their order, which may point to blocks
	uint32_t n_waiting;
	uint8_t *window; // memory from window_at on, WINDOW_BYTES. 0: none
	uint64_t window_at;
	bool is_unread; // some of it: it cannot be read
};

struct marking {
	const struct graph_input *in;
	struct live_blocks blocks;
	VEC(uint64_t) doubtful; // starts of blocks that are held whatever points to them
	struct sources roots;   // sources are these, then the blocks

	// Which block an address is of, by 4 MiB from the first on
	uint64_t low, high;
	struct chunk **leaves;
	struct arena chunks;

	size_t *first; // per source, of its edges in those of its part; while they are read, how many
	struct part parts[PARALLEL_MOST];
	unsigned n_parts;

	uint8_t *grades;    // per block
	uint32_t *class_of; // per block: 1 + its row of graph.classes, 0: not known
	const struct class_words *words;
	uint32_t *queue; // blocks that were marked, and those from `at` on are yet to be followed
	size_t n_queued, at;
	struct holding *holding; // while words of roots are taken once more
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

/** Each part by a thread. False: not all can be read. */
static inline bool run_parts(struct marking *m, void (*work)(void *marking, unsigned part)) {
	parallel_run(m->n_parts, work, m);
	return ALL(k, m->n_parts, !m->parts[k].is_unread);
}

/** Find blocks and roots, and read them into edges. False: not all can be read. */
bool edges_read(struct marking *m);
void edges_finish(struct marking *m);

/** The block that a word of the source points to, but for the source itself; or NO_BLOCK. */
uint32_t edges_target(const struct marking *m, const struct source *s, uint64_t word);

static inline bool edges_may_be_block(const struct marking *m, uint64_t word) {
	return word - m->low <= m->high - m->low;
}

/** The block that any word points to. */
uint32_t edges_block_of(const struct marking *m, uint64_t word);

/** What looks at a piece of a source's memory, which begins at `at`. */
typedef void take_piece(struct marking *m, struct part *p, const struct source *s, uint64_t at,
		const uint8_t *memory, size_t bytes);

/** `is_any`: a word may begin at any byte, so the pieces overlap. What cannot be read is noted. */
void edges_read_source(struct marking *m, struct part *p, const struct source *s, bool is_any,
		take_piece *take);

/** False: not all can be read. */
bool classes_find(struct marking *m, struct graph *out);

/** After all are graded and have classes. False: not all can be read. */
bool holders_find(struct marking *m, struct graph *out);

/**
 * Of the vertices before those of blocks, which ones reach at least half of the bytes that none of
 * them dominates, as far as tried: those whose own blocks lead to most come first. Then 0. Edges
 * between them are dropped.
 */
void sharers_find(struct flow *g, const struct dominators *d, const struct live_blocks *blocks,
		uint32_t out[static GRAPH_SHARERS]);

enum { WORD = 8, WORDS_APART = 64 }; // fields of blocks with more words are one and the same

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
