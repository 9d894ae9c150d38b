// SPDX-License-Identifier: MIT
#include "events.h"

#include "replay/files.h"

#include <stdio.h>
#include <stdlib.h>

/** A program's habits. */
struct shape {
	const char *name;
	size_t n_events;
	uint32_t n_stacks;    // some are drawn much more often
	uint32_t node_stride; // between stacks' nodes: inner nodes of the tree
	uint32_t n_threads;
	uint32_t n_live;    // blocks to be reached, then kept
	unsigned temporary; // per cent of blocks freed at once
	unsigned young;   // per cent of the other frees that take one of the 64 youngest; the rest are
					  // runs of neighbours, as when a structure is torn down
	unsigned n_sizes; // of a stack
};

static const struct shape shapes[] = {
		{"tree", 8000000, 114, 3, 1, 280000, 10, 30, 8},
		{"python", 6000000, 17288, 4, 1, 370000, 10, 60, 2},
		{"node", 1500000, 10493, 5, 6, 64000, 25, 70, 2},
		{"clang", 6000000, 135218, 6, 1, 100000, 25, 85, 2},
		{"cc1plus", 4000000, 77717, 6, 1, 46000, 30, 85, 3},
		{"a million", 10000000, 1000000, 2, 4, 1000000, 0, 0, 4}, // all at random: the worst
};
_Static_assert(sizeof shapes / sizeof *shapes == EVENTS_SHAPES, "EVENTS_SHAPES");

enum { FEW_EVENTS = 500000 };

struct maker {
	uint64_t random;
	uint64_t now_ns;
	uint64_t top;        // of the made-up heap
	uint64_t *free[128]; // stacks of addresses, by size / 16
	size_t n_free[128], capacity[128];
	struct live {
		uint64_t ptr, size;
	} * live;
	size_t n_live;
	size_t n_run;   // frees to come of a structure
	uint32_t phase; // which part of the program is busy
};

static uint64_t next_random(struct maker *m) {
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random * 0x2545f4914f6cdd1d >> 20;
}

/** Like a real allocator: the last address freed of a size comes first. */
static uint64_t take_address(struct maker *m, uint64_t size) {
	size_t class = (size + 23) / 16;
	if (class < 128 && m->n_free[class]) {
		return m->free[class][--m->n_free[class]];
	}
	uint64_t ptr = m->top;
	m->top += class * 16;
	return ptr;
}

static void give_address(struct maker *m, struct live block) {
	size_t class = (block.size + 23) / 16;
	if (class >= 128) {
		return;
	}
	if (m->n_free[class] == m->capacity[class]) {
		m->capacity[class] = m->capacity[class] * 2 + 64;
		m->free[class] = realloc(m->free[class], m->capacity[class] * sizeof(uint64_t));
		if (!m->free[class]) {
			abort();
		}
	}
	m->free[class][m->n_free[class]++] = block.ptr;
}

/** Of each of the groups 1, 2..3, 4..7 ... as often: a few stacks make most of the blocks. */
static uint32_t some_stack(struct maker *m, uint32_t n) {
	unsigned n_groups = 32 - (unsigned)__builtin_clz(n);
	uint32_t first = 1u << next_random(m) % n_groups;
	return (uint32_t)(first + next_random(m) % first - 1) % n;
}

static struct trace_event make_alloc(struct maker *m, const struct shape *s) {
	m->phase = next_random(m) % 20000 ? m->phase : (uint32_t)next_random(m) % s->n_stacks;
	uint32_t stack = (some_stack(m, s->n_stacks) + m->phase) % s->n_stacks;
	struct live block = {.size = 16 + stack % 40 * 8 + next_random(m) % s->n_sizes * 24};
	block.ptr = take_address(m, block.size);
	m->live[m->n_live++] = block;
	struct trace_event e = {.ptr = block.ptr, .size = block.size, .kind = TRACE_ALLOC};
	e.node = 1 + (uint32_t)((uint64_t)stack * 2654435761u % s->n_stacks) * s->node_stride;
	return e;
}

/** Which of the live blocks is freed next. */
static size_t some_victim(struct maker *m, const struct shape *s, bool is_temporary) {
	if (is_temporary) {
		return m->n_live - 1;
	}
	if (m->n_run == 0 && next_random(m) % 100 < s->young && m->n_live > 64) {
		return m->n_live - 1 - next_random(m) % 64;
	}
	if (s->young == 0) {
		return next_random(m) % m->n_live;
	}
	if (m->n_run == 0) {
		m->n_run = (size_t)1 << next_random(m) % (64 - (unsigned)__builtin_clzll(m->n_live));
	}
	m->n_run--;
	return m->n_live - 1;
}

static struct trace_event make_free(struct maker *m, const struct shape *s, bool is_temporary) {
	size_t at = some_victim(m, s, is_temporary);
	struct live block = m->live[at];
	m->live[at] = m->live[--m->n_live];
	give_address(m, block);
	return (struct trace_event){.ptr = block.ptr, .kind = TRACE_FREE};
}

static struct trace_event *make_events(const struct shape *s) {
	struct maker m = {.random = 88172645463325252, .top = 0x555500000000};
	struct trace_event *events = calloc(s->n_events, sizeof *events);
	m.live = calloc(s->n_live + 64, sizeof *m.live);
	if (!events || !m.live) {
		abort();
	}
	bool is_temporary = false;
	for (size_t i = 0; i < s->n_events; i++) {
		bool is_growing = m.n_live < (size_t)s->n_live * i / s->n_events + 1000;
		bool is_alloc = !is_temporary && m.n_live < s->n_live &&
				(m.n_live < 100 || next_random(&m) % 100 < (is_growing ? 60u : 50u));
		struct trace_event e = is_alloc ? make_alloc(&m, s) : make_free(&m, s, is_temporary);
		is_temporary = is_alloc && next_random(&m) % 100 < s->temporary;
		m.now_ns += 20 + next_random(&m) % 200;
		e.time_ns = m.now_ns;
		e.thread = (1 + i / 30 % s->n_threads) & TRACE_THREAD_MAX;
		events[i] = e;
	}
	for (size_t i = 0; i < 128; i++) {
		free(m.free[i]);
	}
	free(m.live);
	return events;
}

struct events events_made(size_t shape) {
	const struct shape *s = &shapes[shape];
	return (struct events){
			.items = make_events(s),
			.n = s->n_events,
			.n_threads = s->n_threads,
			.name = s->name,
	};
}

// ---- of a recording

struct reading {
	struct events events;
	struct maker maker;
	struct live *blocks; // by their number among all allocations
	size_t n_blocks;
	uint64_t *pending; // by thread: the number of the block that it reallocates
	size_t n_pending;
};

/** items[at] is there; new ones are zero. */
static void *grow(void *items, size_t *n, size_t at, size_t size) {
	if (at < *n) {
		return items;
	}
	size_t n_new = at * 2 + 1024;
	char *grown = realloc(items, n_new * size);
	if (!grown) {
		abort();
	}
	memset(grown + *n * size, 0, (n_new - *n) * size);
	*n = n_new;
	return grown;
}

static void give_block(struct reading *r, uint64_t number) {
	if (number < r->n_blocks && r->blocks[number].ptr) {
		give_address(&r->maker, r->blocks[number]);
	}
}

/** Files have no addresses: give it one as an allocator would. */
static void place(struct reading *r, struct trace_event *e) {
	uint64_t number = e->ptr >> 4;
	r->pending = grow(r->pending, &r->n_pending, e->thread, sizeof *r->pending);
	if (e->kind == TRACE_MOVED) {
		give_block(r, r->pending[e->thread]);
	}
	if (e->kind == TRACE_ALLOC || e->kind == TRACE_MOVED) {
		r->blocks = grow(r->blocks, &r->n_blocks, number, sizeof *r->blocks);
		r->blocks[number] = (struct live){take_address(&r->maker, e->size), e->size};
	} else if (e->kind == TRACE_FREE) {
		give_block(r, number);
	}
	r->pending[e->thread] = e->kind == TRACE_REALLOC ? number : 0;
	e->ptr = number < r->n_blocks ? r->blocks[number].ptr : 0;
}

static bool add(void *user, const struct trace_event *events, size_t n) {
	struct reading *r = user;
	struct events *e = &r->events;
	for (size_t i = 0; i < n; i++) {
		if (events[i].kind > TRACE_STAYED) {
			continue; // the end of a thread or an image
		}
		e->items = grow(e->items, &e->capacity, e->n, sizeof *e->items);
		e->items[e->n] = events[i];
		e->n_threads = events[i].thread > e->n_threads ? events[i].thread : e->n_threads;
		place(r, &e->items[e->n++]);
	}
	return true;
}

struct events events_read(const char *path) {
	struct reading r = {.maker.top = 0x555500000000};
	struct recording rec = {0};
	struct err err = {0};
	const char *slash = strrchr(path, '/');
	r.events.name = slash ? slash + 1 : path;
	if (!replay_read(path, add, &r, &rec, &err)) {
		(void)fprintf(stderr, "%s: %s\n", path, err.text);
		exit(1);
	}
	for (size_t i = 0; i < 128; i++) {
		free(r.maker.free[i]);
	}
	free(r.blocks);
	free(r.pending);
	recording_finish(&rec);
	return r.events;
}

struct events events_of_threads(const struct events *e, uint32_t n_threads, size_t run) {
	size_t n = e->n < FEW_EVENTS ? e->n : FEW_EVENTS;
	struct events many = {.n = n * n_threads, .n_threads = n_threads};
	many.items = calloc(many.n, sizeof *many.items);
	if (!many.items) {
		abort();
	}
	struct trace_event *out = many.items;
	for (size_t at = 0; at < n; at += run) {
		for (uint32_t thread = 1; thread <= n_threads; thread++) {
			for (size_t i = at; i < at + run && i < n; i++) {
				*out = e->items[i];
				out->ptr += (uint64_t)(thread - 1) << 38;
				out->thread = thread & TRACE_THREAD_MAX;
				out++;
			}
		}
	}
	return many;
}
