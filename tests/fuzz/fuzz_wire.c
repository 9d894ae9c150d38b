// SPDX-License-Identifier: MIT

// The segment is the target's memory: whatever stands there, the collector reads it to its end, does no harm
// to itself, and hands over what its consumers can stand

#include "base/err.h"
#include "base/slice.h"
#include "collector/order/order.h"

#include <stdlib.h>
#include <string.h>

enum { N_SLOTS = 4, SLOT_BYTES = 1 << 20, N_NODES = 1 << 10, N_MODULES = 16, N_PIDS = 8 };
#define STEP_NS 20000000ull // after it slots are looked through and the dead are asked for

static struct {
	struct segment segment;
	struct tries tries;
	struct order *order;
	uint64_t now_ns, dead, n_events;
	uint32_t n_threads;
} f;

// ---- the sink

static void take_events(void *user, const struct trace_event *events, size_t n) {
	(void)user;
	for (size_t i = 0; i < n; i++) {
		check(events[i].kind >= TRACE_ALLOC && events[i].kind <= TRACE_STAYED);
		check(events[i].node < f.tries.n_nodes && events[i].thread <= f.n_threads);
		check(events[i].time_ns <= f.now_ns);
	}
	f.n_events += n;
}

static void take_mapping(void *user, const struct trace_event *event) {
	(void)user;
	check(event->kind >= KIND_MAP && event->kind <= KIND_FORK);
	check(event->node < f.tries.n_nodes && event->thread <= f.n_threads);
}

static uint32_t take_thread(void *user, const struct order_thread *thread) {
	(void)user;
	check(thread->slot < N_SLOTS);
	return ++f.n_threads;
}

static void take_end(void *user, uint32_t thread) {
	(void)user;
	check(thread <= f.n_threads);
}

static void take_image(void *user, uint32_t image) {
	(void)user;
	(void)image;
}

static bool is_alive(void *user, uint32_t pid, uint32_t tid) {
	(void)user;
	return (f.dead >> (pid + tid) % 64 & 1) == 0;
}

static bool is_running(void *user, uint32_t pid, uint32_t tid) {
	(void)user;
	return (pid ^ tid) % 2 != 0;
}

static void take_module(void *user, uint32_t id, const struct wire_module *module) {
	(void)user;
	check(id > 0 && id < N_MODULES && module->end >= module->start);
	check(memchr(module->path, '\0', sizeof module->path) != NULL);
	check(module->build_id_bytes <= sizeof module->build_id);
}

// ---- the target, as it pleases

static void claim(struct cursor *c) {
	struct thread_slot *slot = segment_slot(&f.segment, cursor_u8(c) % N_SLOTS);
	slot->tid = cursor_u8(c);
	slot->pid = cursor_u8(c) % N_PIDS;
	slot->image = cursor_u8(c) % 4;
	atomic_store(&slot->state, SLOT_LIVE);
	atomic_fetch_add(&f.segment.header->n_claims, 1);
	atomic_store(&f.segment.header->slot_hint, N_SLOTS);
}

/** The next entry of a ring, published or not, or one behind it. */
static void write_entry(struct cursor *c, bool is_published) {
	uint8_t where = cursor_u8(c);
	unsigned ring = where >> 2 & 1;
	struct thread_slot *slot = segment_slot(&f.segment, where % N_SLOTS);
	uint64_t at = atomic_fetch_add(&slot->rings[ring].reserved, 1 + (where >> 3 & 1));
	uint32_t n = wire_ring_entries(ring);
	struct wire_event *e = (struct wire_event *)(void *)((uint8_t *)slot + wire_ring_at(ring)) +
			at % n;
	uint64_t head = cursor_u64(c);
	e->body = cursor_u64(c);
	head &= ~(1ull << 63);
	atomic_store(&e->head, is_published ? head | wire_phase(at, wire_ring_log2(ring)) : head);
}

static void write_node(struct cursor *c) {
	struct wire_node *node = &f.segment.nodes[cursor_u32(c) % N_NODES];
	node->parent = cursor_u32(c);
	atomic_store(&node->where, cursor_u64(c));
}

static void write_module(struct cursor *c) {
	uint32_t id = cursor_u8(c) % N_MODULES;
	struct wire_module *m = &f.segment.modules[id];
	m->start = cursor_u64(c);
	m->end = cursor_u64(c);
	m->build_id_bytes = cursor_u8(c);
	m->kind = cursor_u8(c);
	memset(m->path, m->kind, sizeof m->path);
	atomic_store(&m->state, 1);
	atomic_store(&f.segment.header->n_modules, id + cursor_u8(c) % 2);
}

/** Eight bytes anywhere where the target writes. */
static void scribble(struct cursor *c) {
	uint8_t what = cursor_u8(c);
	uint64_t at = (cursor_u32(c) & 0xffff) & ~7ull;
	uint8_t *to = (uint8_t *)segment_slot(&f.segment, what % N_SLOTS) + at;
	if (what >= 128) { // the header, but for the words that are the collector's own
		const uint64_t first = offsetof(struct segment_header, n_images);
		to = (uint8_t *)f.segment.header + first + at % (8192 - first);
	}
	uint64_t value = cursor_u64(c);
	memcpy(to, &value, sizeof value);
}

static void look(uint8_t n_steps) {
	f.now_ns += n_steps * STEP_NS + 1;
	tries_poll_modules(&f.tries, take_module, NULL);
	(void)order_round(f.order, f.now_ns);
}

static void act(struct cursor *c) {
	switch (cursor_u8(c) % 8) {
	case 0: claim(c); break;
	case 1:
	case 2: write_entry(c, true); break;
	case 3: write_entry(c, false); break;
	case 4: write_node(c); break;
	case 5: write_module(c); break;
	case 6: scribble(c); break;
	default:
		f.dead |= 1ull << cursor_u8(c) % 64;
		look(cursor_u8(c) % 8);
		break;
	}
}

static void check_tries(void) {
	for (uint32_t i = 1; i < f.tries.n_nodes; i++) {
		const struct rec_node *node = &f.tries.nodes[i];
		check(node->parent < i && node->location < f.tries.n_locations);
		check(f.tries.locations[node->location].module <= f.tries.n_modules);
		check(f.tries.locations[node->location].pc <= WIRE_PC_MASK);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	const struct segment_params params = {.n_slots = N_SLOTS,
			.slot_bytes = SLOT_BYTES,
			.node_capacity = N_NODES,
			.module_capacity = N_MODULES};
	const struct order_sink sink = {.events = take_events,
			.late_events = take_events,
			.mapping = take_mapping,
			.thread = take_thread,
			.thread_ended = take_end,
			.image = take_image,
			.is_thread_alive = is_alive,
			.is_thread_running = is_running};
	struct err err;
	memset(&f, 0, sizeof f);
	f.now_ns = 1;
	check(segment_init(&f.segment, &params, &err));
	tries_init(&f.tries, &f.segment);
	f.order = order_create(&f.segment, &f.tries, &sink, NULL);
	check(f.order != NULL);
	atomic_store(&f.segment.header->n_images, 1);
	struct cursor c = cursor_init(slice_of(data, size));
	while (!c.failed && cursor_left(&c) > 0) {
		act(&c);
	}
	look(1);
	f.now_ns += STEP_NS;
	order_finish(f.order, f.now_ns);
	check_tries();
	check(f.n_events == order_counts(f.order).events);
	order_destroy(f.order);
	tries_finish(&f.tries);
	segment_finish(&f.segment);
	return 0;
}
