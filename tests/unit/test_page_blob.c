// SPDX-License-Identifier: MIT
#include "base/slice.h"
#include "engine/names.h"
#include "web/encode/columns.h"
#include "web/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <cmocka.h>

// The blob of a small recording with inlined frames and recursion, taken apart again; its frames
// against a slow, obvious walk. What the page makes of it is tested in tests/web.

enum { N_LOCATIONS = 12, N_NODES = 200, N_STRINGS = 40 };

static struct slice text(struct arena *a, const char *prefix, unsigned i) {
	char buf[32];
	int n = snprintf(buf, sizeof buf, "%s%u", prefix, i);
	return slice_of(arena_text(a, slice_of(buf, (size_t)n)), (size_t)n);
}

static void make_tables(struct recording *r) {
	struct arena *a = &r->arena;
	r->strings.items = arena_new(a, struct slice, N_STRINGS);
	r->strings.n = N_STRINGS;
	for (uint32_t i = 1; i < N_STRINGS; i++) {
		r->strings.items[i] = text(a, i < 20 ? "function" : "/src/file", i);
	}
	r->modules.items = arena_new(a, struct rec_module, 2);
	r->modules.n = 2;
	r->modules.items[1] = (struct rec_module){.path = 30, .image = 1};
	r->meta.exe = 30;
	r->threads.items = arena_new(a, struct rec_thread, 1);
	r->threads.n = 1;
	r->frames.items = arena_new(a, struct rec_frame, 2 * N_LOCATIONS);
	r->frames.n = 2 * N_LOCATIONS;
	r->locations.items = arena_new(a, struct rec_location, N_LOCATIONS);
	r->locations.n = N_LOCATIONS;
	for (uint32_t i = 1; i < N_LOCATIONS; i++) {
		// Two locations share their functions and differ in their lines; odd ones inline one
		uint32_t function = 1 + i / 2;
		struct rec_frame *f = &r->frames.items[2 * i];
		f[0] = (struct rec_frame){.function = function, .file = 20 + function, .line = i};
		f[1] = (struct rec_frame){.function = function + 8, .file = 28, .line = i % 3 + 1};
		r->locations.items[i] = (struct rec_location){.pc = 0x1000 + i,
				.module = 1,
				.first_frame = 2 * i,
				.n_frames = (uint16_t)(1 + i % 2)};
	}
}

static void make_stacks(struct recording *r) {
	struct arena *a = &r->arena;
	r->nodes.items = arena_new(a, struct rec_node, N_NODES);
	r->nodes.n = N_NODES;
	r->stacks.items = arena_new(a, struct rec_stack, N_NODES);
	r->intervals.items = arena_new(a, struct rec_interval_row, N_NODES);
	srand(7);
	for (uint32_t i = 1; i < N_NODES; i++) {
		r->nodes.items[i].parent = (uint32_t)rand() % i;
		r->nodes.items[i].location = 1 + (uint32_t)rand() % (N_LOCATIONS - 1);
		uint64_t n = 1 + (uint64_t)rand() % 100;
		r->stacks.items[r->stacks.n] = (struct rec_stack){.node = i,
				.allocations = n,
				.allocated_bytes = 8 * n,
				.peak_blocks = n,
				.peak_bytes = 8 * n,
				.live_blocks = n,
				.live_bytes = 8 * n};
		const struct rec_interval v = {.stack = r->stacks.n++,
				.until = REC_NEVER,
				.count = (uint32_t)n,
				.bytes = 8 * n};
		assert_true(recording_set_interval(r, r->intervals.n++, &v));
		r->summary.allocations += n;
		r->summary.peak_bytes += 8 * n;
		r->summary.live_bytes += 8 * n;
	}
}

static void make_recording(struct recording *r) {
	make_tables(r);
	make_stacks(r);
	r->edges.items = arena_new(&r->arena, struct rec_edge, 1);
	r->edges.n = 1;
	r->edges.items[0] = (struct rec_edge){.time_ns = 5,
			.end_ns = 10,
			.bytes = r->summary.peak_bytes};
	r->meta.duration_ns = 10;
}

/** Two processes of a command each made its stacks by turns. */
static void make_tree(struct recording *r) {
	struct arena *a = &r->arena;
	r->processes.items = arena_new(a, struct rec_process, 3);
	r->commands.items = arena_new(a, struct rec_command, 3);
	r->processes.n = r->commands.n = 3;
	for (uint32_t i = 1; i < 3; i++) {
		r->processes.items[i] = (struct rec_process){.pid = 4711, .command = i};
		r->commands.items[i] = (struct rec_command){.name = i, .exe = 30 + i, .n_processes = 1};
	}
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		r->stacks.items[i].command = 1 + i % 2;
	}
}

/** The frames of a stack, innermost first, as text: slow and obvious. */
static void stack_by_walk(const struct recording *r, const struct names *n, uint32_t node,
		struct buffer *out) {
	struct stack_walk w = stack_walk_init(r, n, node);
	const struct name *f;
	while ((f = stack_walk_next(&w))) {
		buffer_printf(out, "%.*s:%u ", SLICE_ARG(f->function), f->line);
	}
}

static void stack_by_frames(const struct frames *f, uint32_t node, struct buffer *out) {
	for (; node != 0; node = f->nodes.items[node].parent) {
		const struct frame_kind *kind = &f->kinds.items[f->nodes.items[node].key];
		const struct frame_symbol *s = &f->symbols.items[kind->symbol];
		buffer_printf(out, "%.*s:%u ", SLICE_ARG(s->name->function), kind->line);
	}
}

static void frames_hold_every_stack(void **state) {
	(void)state;
	struct recording r = {0};
	make_recording(&r);
	struct names *n = names_create(&r, NULL);
	struct arena arena = {0};
	struct frames f;
	assert_non_null(n);
	frames_build(&r, n, &arena, &f);
	for (uint32_t i = 0; i < r.nodes.n; i++) {
		struct buffer walked = {0}, framed = {0};
		stack_by_walk(&r, n, i, &walked);
		stack_by_frames(&f, f.node_of[i], &framed);
		assert_true(slice_equal(buffer_view(&walked), buffer_view(&framed)));
		buffer_finish(&walked);
		buffer_finish(&framed);
	}
	// Pre-order: a node's parent is the last one before it that is not deeper
	uint32_t depth[2 * N_NODES + 1] = {0};
	for (uint32_t i = 1; i < f.nodes.n; i++) {
		assert_true(f.nodes.items[i].parent < i);
		depth[i] = depth[f.nodes.items[i].parent] + 1;
		assert_true(depth[i] <= depth[i - 1] + 1);
	}
	arena_finish(&arena);
	names_destroy(n);
	recording_finish(&r);
}

/** The sections of both parts. */
static struct buffer inflated(struct slice blob) {
	struct buffer out = {0};
	struct cursor c = cursor_init(blob);
	(void)cursor_bytes(&c, BLOB_HEAD_BYTES);
	for (int part = 0; part < 2; part++) {
		uint64_t size = cursor_u64(&c);
		struct slice packed = cursor_bytes(&c, cursor_u64(&c));
		assert_int_equal(part ? blob.size : blob_first_size(blob), c.at - blob.data);
		z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.data,
				.avail_in = (uInt)packed.size,
				.next_out = buffer_room(&out, size),
				.avail_out = (uInt)size};
		assert_int_equal(inflateInit2(&z, -15), Z_OK);
		assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
		assert_int_equal(z.total_out, size);
		(void)inflateEnd(&z);
		out.size += size;
	}
	assert_true(!c.failed && cursor_left(&c) == 0);
	return out;
}

static uint64_t varint(const uint8_t **at) {
	uint64_t v = 0;
	for (int shift = 0;; shift += 7) {
		v |= (uint64_t)(**at & 127) << shift;
		if (!(*(*at)++ & 128)) {
			return v;
		}
	}
}

enum { STACKS = 5 }; // docs/page-format.md

/** The sum of a column of the stacks' table. */
static uint64_t sum_of_stacks(struct slice body, unsigned column, uint64_t *n) {
	const uint8_t *at = body.data;
	uint64_t kind, size;
	while (kind = varint(&at), size = varint(&at), kind != STACKS) {
		at += size;
		assert_true(at < body.data + body.size);
	}
	*n = varint(&at);
	for (uint64_t i = 0; i < *n; i++) {
		(void)varint(&at); // nodes
	}
	for (unsigned i = 1; i < column; i++) {
		uint64_t bytes = varint(&at);
		at += bytes;
	}
	(void)varint(&at);
	uint64_t sum = 0;
	for (uint64_t i = 0; i < *n; i++) {
		sum += varint(&at);
	}
	return sum;
}

enum { COLUMN_ALLOCATIONS = 6, COLUMN_PEAK_BYTES = 12, COLUMN_COMMAND = 34 };

/** However much is merged, no sum changes. */
static void blob_keeps_every_sum(void **state) {
	(void)state;
	struct recording r = {0};
	make_recording(&r);
	struct names *n = names_create(&r, NULL);
	uint64_t before = UINT64_MAX;
	for (uint64_t least = 0; least < 2 * r.summary.peak_bytes; least = least ? 4 * least : 100) {
		struct buffer blob = {0};
		struct blob_options options = {.least_bytes = least};
		blob_write(&blob, &r, n, &options);
		assert_memory_equal(blob.data, BLOB_MAGIC, 8);
		struct buffer body = inflated(buffer_view(&blob));
		uint64_t n_stacks;
		assert_int_equal(sum_of_stacks(buffer_view(&body), COLUMN_ALLOCATIONS, &n_stacks),
				r.summary.allocations);
		assert_int_equal(sum_of_stacks(buffer_view(&body), COLUMN_PEAK_BYTES, &n_stacks),
				r.summary.peak_bytes);
		assert_true(n_stacks <= before);
		before = n_stacks;
		buffer_finish(&body);
		buffer_finish(&blob);
	}
	assert_int_equal(before, 1);
	names_destroy(n);
	recording_finish(&r);
}

/** However much is merged, no stack stands for two commands. */
static void commands_stay_apart(void **state) {
	(void)state;
	struct recording r = {0};
	make_recording(&r);
	make_tree(&r);
	struct names *n = names_create(&r, NULL);
	struct buffer blob = {0};
	struct blob_options options = {.least_bytes = 2 * r.summary.peak_bytes};
	blob_write(&blob, &r, n, &options);
	struct buffer body = inflated(buffer_view(&blob));
	uint64_t n_stacks;
	assert_int_equal(sum_of_stacks(buffer_view(&body), COLUMN_COMMAND, &n_stacks), 1 + 2);
	assert_int_equal(n_stacks, 2);
	buffer_finish(&body);
	buffer_finish(&blob);
	names_destroy(n);
	recording_finish(&r);
}

/** However it is packed, the same is in it. */
static void blob_is_the_same_in_each_packing(void **state) {
	(void)state;
	struct recording r = {0};
	make_recording(&r);
	struct names *n = names_create(&r, NULL);
	struct buffer body[3] = {0}, blob[3] = {0};
	for (int packing = BLOB_SMALL; packing <= BLOB_AS_IS; packing++) {
		struct blob_options options = {.packing = (enum blob_packing)packing};
		blob_write(&blob[packing], &r, n, &options);
		body[packing] = inflated(buffer_view(&blob[packing]));
		assert_true(slice_equal(buffer_view(&body[packing]), buffer_view(&body[BLOB_SMALL])));
	}
	assert_true(blob[BLOB_SMALL].size < blob[BLOB_QUICKLY].size);
	assert_true(blob[BLOB_QUICKLY].size < blob[BLOB_AS_IS].size);
	for (int packing = BLOB_SMALL; packing <= BLOB_AS_IS; packing++) {
		buffer_finish(&body[packing]);
		buffer_finish(&blob[packing]);
	}
	names_destroy(n);
	recording_finish(&r);
}

static void redacted_blob_names_no_folder(void **state) {
	(void)state;
	struct recording r = {0};
	make_recording(&r);
	make_tree(&r);
	struct names *n = names_create(&r, NULL);
	struct buffer blob = {0};
	struct blob_options options = {.is_redacted = true};
	blob_write(&blob, &r, n, &options);
	struct buffer body = inflated(buffer_view(&blob));
	assert_null(memmem(body.data, body.size, "/src/", 5));
	assert_non_null(memmem(body.data, body.size, "file30", 6));
	buffer_finish(&body);
	buffer_finish(&blob);
	names_destroy(n);
	recording_finish(&r);
}

static void base64_as_in_the_rfc(void **state) {
	(void)state;
	static const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
			{"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct buffer out = {0};
		pack_base64(&out, slice_of_text(pairs[i][0]));
		assert_true(slice_equal(buffer_view(&out), slice_of_text(pairs[i][1])));
		buffer_finish(&out);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(frames_hold_every_stack),
			cmocka_unit_test(blob_keeps_every_sum),
			cmocka_unit_test(commands_stay_apart),
			cmocka_unit_test(blob_is_the_same_in_each_packing),
			cmocka_unit_test(redacted_blob_names_no_folder),
			cmocka_unit_test(base64_as_in_the_rfc),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
