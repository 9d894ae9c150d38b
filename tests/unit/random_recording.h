// SPDX-License-Identifier: MIT
#pragma once

/**
 * Random recordings that keep all promises of recording.h, and the blocks that they were made of:
 * for tests that ask the engine and count by hand. Functions are called f0, f1, ... and library
 * ones std::f0, ...; some are inlined; some locations have no name.
 */

#include "base/err.h"
#include "trace/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct made_block {
	uint32_t stack, from, until, size;
	bool is_temporary;
};

struct made {
	struct recording r;
	struct made_block *blocks;
	uint32_t n_blocks;
	uint64_t random;
};

struct make_options {
	uint64_t seed;
	uint32_t nodes, stacks, edges, blocks, functions, threads;
};

static inline uint64_t made_random(struct made *m, uint64_t n) {
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (m->random * 0x2545f4914f6cdd1d >> 16) % n;
}

static inline uint32_t made_string(struct made *m, const char *text) {
	struct recording *r = &m->r;
	const char *kept = arena_text(&r->arena, slice_of_text(text));
	check(kept);
	r->strings.items[r->strings.n] = slice_of_text(kept);
	return r->strings.n++;
}

static inline void make_code(struct made *m, const struct make_options *o) {
	struct recording *r = &m->r;
	uint32_t n_locations = o->functions * 2 + 1;
	r->strings.items = arena_new(&r->arena, struct slice, 64 + o->functions + o->threads);
	r->modules.items = arena_new(&r->arena, struct rec_module, 4);
	r->locations.items = arena_new(&r->arena, struct rec_location, n_locations);
	r->frames.items = arena_new(&r->arena, struct rec_frame, n_locations * 2);
	check(r->strings.items && r->modules.items && r->locations.items && r->frames.items);
	char text[64];
	(void)made_string(m, "");
	r->meta.exe = made_string(m, "/home/u/app");
	r->modules.n = 4;
	r->modules.items[1].path = r->meta.exe;
	r->modules.items[2].path = made_string(m, "/usr/lib/libc.so.6");
	r->modules.items[3].path = made_string(m, "/home/u/libmine.so");
	for (uint32_t i = 1; i < 4; i++) {
		r->modules.items[i].start = i * 0x100000;
		r->modules.items[i].end = i * 0x100000 + 0x80000;
	}
	uint32_t files[3] = {made_string(m, "/home/u/a.cpp"), made_string(m, "/home/u/b.cpp"),
			made_string(m, "/usr/include/c++/12/bits/x.h")};
	uint32_t functions = r->strings.n;
	for (uint32_t i = 0; i < o->functions; i++) {
		(void)snprintf(text, sizeof text, "%sf%u(int)", i % 3 == 0 ? "std::" : "", i);
		(void)made_string(m, text);
	}
	r->locations.n = n_locations;
	for (uint32_t i = 1; i < n_locations; i++) {
		struct rec_location *l = &r->locations.items[i];
		l->module = 1 + (uint32_t)made_random(m, 3);
		l->pc = r->modules.items[l->module].start + i * 16;
		l->first_frame = r->frames.n;
		l->n_frames = (uint16_t)(made_random(m, 8) == 0 ? 0 : 1 + (made_random(m, 4) == 0));
		for (uint32_t k = 0; k < l->n_frames; k++) {
			uint32_t f = (uint32_t)made_random(m, o->functions);
			r->frames.items[r->frames.n++] = (struct rec_frame){
					.function = functions + f,
					.file = f % 3 == 0 ? files[2] : files[f % 2],
					.line = i,
			};
		}
	}
}

static inline void make_stacks(struct made *m, const struct make_options *o) {
	struct recording *r = &m->r;
	r->nodes.items = arena_new(&r->arena, struct rec_node, o->nodes);
	r->stacks.items = arena_new(&r->arena, struct rec_stack, o->stacks);
	r->threads.items = arena_new(&r->arena, struct rec_thread, o->threads + 1);
	check(r->nodes.items && r->stacks.items && r->threads.items);
	r->nodes.n = o->nodes;
	for (uint32_t i = 1; i < o->nodes; i++) {
		// Mostly deep, sometimes wide
		uint32_t parent = made_random(m, 3) ? (uint32_t)made_random(m, i) : i - 1;
		r->nodes.items[i] = (struct rec_node){parent,
				1 + (uint32_t)made_random(m, r->locations.n - 1)};
	}
	r->threads.n = o->threads + 1;
	for (uint32_t i = 1; i <= o->threads; i++) {
		char text[32];
		(void)snprintf(text, sizeof text, "worker%u", i / 2);
		r->threads.items[i].name = made_string(m, text);
	}
	r->stacks.n = r->lifetimes.n = o->stacks;
	r->lifetimes.items = arena_new(&r->arena, struct rec_lifetimes, o->stacks);
	check(r->lifetimes.items);
	for (uint32_t i = 0; i < o->stacks; i++) {
		r->stacks.items[i].node = (uint32_t)made_random(m, o->nodes);
		r->stacks.items[i].thread = (uint32_t)made_random(m, o->threads + 1);
		r->stacks.items[i].usual_size = 15 * (1 + (uint32_t)made_random(m, 8));
	}
}

static inline void make_blocks(struct made *m, const struct make_options *o) {
	struct recording *r = &m->r;
	m->blocks = calloc(o->blocks, sizeof *m->blocks);
	r->edges.items = arena_new(&r->arena, struct rec_edge, o->edges);
	r->intervals.items = arena_new(&r->arena, struct rec_interval_row, o->blocks);
	check(m->blocks && r->edges.items && r->intervals.items);
	r->edges.n = o->edges;
	m->n_blocks = o->blocks;
	for (uint32_t i = 0; i < o->blocks; i++) {
		struct made_block *b = &m->blocks[i];
		b->stack = (uint32_t)((uint64_t)i * o->stacks / o->blocks);
		b->size = r->stacks.items[b->stack].usual_size + (made_random(m, 5) == 0);
		b->from = (uint32_t)made_random(m, o->edges + 1);
		uint32_t life = (uint32_t)made_random(m, made_random(m, 2) ? 2 : o->edges + 8);
		b->until = b->from + life > o->edges ? REC_NEVER : b->from + life;
		if (b->from == o->edges) {
			b->until = b->from; // the heap's end is not above its last edge
		}
		b->is_temporary = b->until == b->from && made_random(m, 2);
	}
}

/** Blocks of a stack have its usual size, or one byte more. */
static inline void make_sizes(struct made *m) {
	struct recording *r = &m->r;
	r->sizes.items = arena_new(&r->arena, struct rec_size, 2ul * r->stacks.n);
	check(r->sizes.items);
	for (uint32_t i = 0, at = 0; i < r->stacks.n; i++) {
		struct rec_size z[2] = {{.stack = i, .size = r->stacks.items[i].usual_size},
				{.stack = i, .size = r->stacks.items[i].usual_size + 1ul}};
		for (; at < m->n_blocks && m->blocks[at].stack == i; at++) {
			struct rec_size *one = &z[m->blocks[at].size != z[0].size];
			one->count++;
			one->bytes += one->size;
			one->live += m->blocks[at].until == REC_NEVER;
		}
		for (int k = 0; k < 2; k++) {
			if (z[k].count) {
				r->sizes.items[r->sizes.n++] = z[k];
			}
		}
	}
}

/** Edges, stacks and the summary from the blocks. */
static inline void add_up(struct made *m) {
	struct recording *r = &m->r;
	struct rec_summary *s = &r->summary;
	for (uint32_t i = 0; i < r->edges.n; i++) {
		r->edges.items[i].time_ns = 1000000ull * (i * 3 + 1 + i % 2);
		r->edges.items[i].end_ns = 1000000ull * (i * 3 + 3);
	}
	r->meta.duration_ns = 1000000ull * r->edges.n * 3;
	for (uint32_t i = 0; i < m->n_blocks; i++) {
		const struct made_block *b = &m->blocks[i];
		struct rec_stack *stack = &r->stacks.items[b->stack];
		bool is_live = b->until == REC_NEVER;
		if (b->from < r->edges.n) {
			struct rec_edge *e = &r->edges.items[b->from];
			e->allocations++;
			e->allocated_bytes += b->size;
			e->bytes += b->size;
			e->blocks++;
		}
		if (b->until < r->edges.n) {
			r->edges.items[b->until].bytes -= b->size; // modulo 2^64, until they are summed up
			r->edges.items[b->until].blocks--;
		}
		stack->allocations++;
		stack->allocated_bytes += b->size;
		stack->temporary += b->is_temporary;
		stack->temporary_bytes += b->is_temporary ? b->size : 0;
		stack->live_blocks += is_live;
		stack->live_bytes += is_live ? b->size : 0;
		r->lifetimes.items[b->stack].blocks[3] += !is_live;
		const struct rec_interval v = {
				.stack = b->stack,
				.from = (uint16_t)b->from,
				.until = (uint16_t)b->until,
				.count = 1,
				.temporary = b->is_temporary,
				.bytes = b->size,
		};
		check(recording_set_interval(r, r->intervals.n++, &v));
		s->allocations++;
		s->allocated_bytes += b->size;
		s->temporary += b->is_temporary;
		s->live_blocks += is_live;
		s->live_bytes += is_live ? b->size : 0;
		s->frees += !is_live;
	}
	for (uint32_t i = 1; i < r->edges.n; i++) {
		struct rec_edge *e = &r->edges.items[i];
		e->bytes += e[-1].bytes;
		e->blocks += e[-1].blocks;
		e->allocations += e[-1].allocations;
		e->allocated_bytes += e[-1].allocated_bytes;
	}
	uint32_t peak = 0;
	for (uint32_t i = 1; i < r->edges.n; i++) {
		peak = r->edges.items[i].bytes > r->edges.items[peak].bytes ? i : peak;
	}
	s->peak_bytes = r->edges.items[peak].bytes;
	s->peak_blocks = r->edges.items[peak].blocks;
	s->peak_time_ns = r->edges.items[peak].time_ns;
	for (uint32_t i = 0; i < m->n_blocks; i++) {
		const struct made_block *b = &m->blocks[i];
		if (b->from <= peak && peak < b->until) {
			r->stacks.items[b->stack].peak_blocks++;
			r->stacks.items[b->stack].peak_bytes += b->size;
		}
	}
}

static inline struct made make_recording(const struct make_options *o) {
	struct made m = {.random = o->seed * 0x9e3779b97f4a7c15 + 1};
	make_code(&m, o);
	make_stacks(&m, o);
	make_blocks(&m, o);
	make_sizes(&m);
	add_up(&m);
	return m;
}

static inline void finish_made(struct made *m) {
	free(m->blocks);
	recording_finish(&m->r);
}
