// SPDX-License-Identifier: MIT
#include "writer.h"

#include "sys/futex.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { HANDLERS_ROOM = 64, WAIT_NS = 50 * 1000 * 1000 };

static bool try_claim(struct thread_slot *slot) {
	uint32_t expected = SLOT_FREE;
	return atomic_compare_exchange_strong(&slot->state, &expected, SLOT_CLAIMED);
}

static struct wire_ring *ring_now(struct writer *w, uint32_t *which) {
	*which = atomic_load_explicit(&w->slot->ring, memory_order_relaxed);
	return &w->slot->rings[*which];
}

/** `e`: where the entries are, and where they end: a handler may come right behind. */
static void reserve(struct writer *w, uint32_t n, struct writer_event *e) {
	uint32_t which;
	e->ring = ring_now(w, &which);
	uint32_t log2 = wire_ring_log2(which);
	uint64_t at = atomic_fetch_add_explicit(&e->ring->reserved, n, memory_order_relaxed);
	e->end = at + n;
	e->phases[0] = wire_phase(at, log2);
	e->phases[1] = wire_phase(at + 1, log2);
	e->entries[0] = (struct wire_event *)(void *)((uint8_t *)w->slot + wire_ring_at(which)) +
			at % wire_ring_entries(which);
}

static void publish(struct wire_event *entry, uint64_t head, uint64_t body) {
	entry->body = body;
	atomic_store_explicit(&entry->head, head, memory_order_release);
}

/** Those of the events that follow are not 2^26 away from now: labels are more frequent. */
static void put_stamp(struct writer *w) {
	uint64_t stamp = atomic_load(&w->segment->common->stamp);
	struct writer_event e;
	reserve(w, 1, &e);
	publish(e.entries[0], wire_head(e.phases[0], KIND_STAMP, 0, 0), stamp);
}

static uint32_t owner_of(const struct writer *w) {
	return (uint32_t)((uint64_t)((uint8_t *)w->slot - w->segment->slots) / w->segment->slot_bytes) +
			1;
}

void writer_take_first_epoch(struct writer *w) {
	uint64_t none = 0;
	(void)atomic_compare_exchange_strong(&w->segment->common->epoch, &none,
			wire_epoch(1, owner_of(w)));
}

/** That of an event of ours: if it is another thread's, it ends. */
static uint64_t see_epoch(struct writer *w) {
	_Atomic uint64_t *at = &w->segment->common->epoch;
	uint64_t epoch = atomic_load_explicit(at, memory_order_relaxed);
	while (wire_epoch_owner(epoch) != 0 && wire_epoch_owner(epoch) != owner_of(w)) {
		if (atomic_compare_exchange_weak(at, &epoch, wire_epoch_of_all(epoch))) {
			return wire_epoch_of_all(epoch);
		}
	}
	return epoch;
}

/** Name the epoch. A handler that comes between does so itself, behind. */
static void put_epoch(struct writer *w) {
	for (unsigned i = 0; i < 8; i++) {
		uint64_t before = atomic_load_explicit(&w->epoch, memory_order_relaxed);
		struct writer_event e;
		reserve(w, 1, &e);
		uint64_t epoch = see_epoch(w);
		if (atomic_load_explicit(&e.ring->reserved, memory_order_relaxed) != e.end) {
			publish(e.entries[0], wire_head(e.phases[0], KIND_VOID, 0, 0), 0);
			continue;
		}
		publish(e.entries[0], wire_head(e.phases[0], KIND_EPOCH, 0, 0), epoch);
		if (wire_epoch_owner(epoch) == 0) {
			put_stamp(w);
		}
		(void)atomic_compare_exchange_strong(&w->epoch, &before, epoch);
		return;
	}
}

bool writer_join(struct writer *w, struct segment *s, uint32_t image) {
	return writer_join_as(w, s, image, (uint32_t)syscall(SYS_gettid));
}

bool writer_join_as(struct writer *w, struct segment *s, uint32_t image, uint32_t tid) {
	struct segment_header *h = s->header;
	uint32_t first = atomic_load(&h->slot_hint);
	for (uint32_t i = 0; i < s->n_slots; i++) {
		uint32_t at = (first + i) % s->n_slots;
		struct thread_slot *slot = segment_slot(s, at);
		if (!try_claim(slot)) {
			continue;
		}
		atomic_store(&h->slot_hint, at + 1);
		slot->tid = tid;
		slot->pid = (uint32_t)getpid();
		slot->image = image;
		*w = (struct writer){.segment = s, .slot = slot};
		put_stamp(w);
		atomic_store_explicit(&slot->state, SLOT_LIVE, memory_order_release);
		atomic_fetch_add(&h->n_claims, 1);
		return true;
	}
	return false;
}

static bool has_room(struct wire_ring *ring, uint32_t which, uint32_t n) {
	return atomic_load_explicit(&ring->reserved, memory_order_relaxed) + n + HANDLERS_ROOM <=
			atomic_load(&ring->taken) + wire_ring_entries(which);
}

static void ring_bell(struct segment *s) {
	if (atomic_exchange(&s->common->bell, 1) == 0) {
		futex_wake(&s->common->bell, 1);
	}
}

bool writer_make_room(struct writer *w, uint32_t n, bool may_wait) {
	for (;;) {
		uint32_t which;
		struct wire_ring *ring = ring_now(w, &which);
		if (has_room(ring, which, n)) {
			return true;
		}
		if (which == RING_SMALL) {
			atomic_store_explicit(&w->slot->ring, RING_BIG, memory_order_release);
			continue;
		}
		if (!may_wait || segment_state(w->segment) == SEGMENT_CLOSED) {
			return false;
		}
		uint32_t room = atomic_load(&ring->room);
		atomic_store(&ring->owner_waits, 1);
		ring_bell(w->segment);
		if (!has_room(ring, which, n)) {
			futex_wait(&ring->room, room, WAIT_NS);
		}
		atomic_store(&ring->owner_waits, 0);
	}
}

static struct wire_event *after(struct writer *w, struct wire_event *e) {
	for (unsigned ring = 0; ring < N_RINGS; ring++) {
		struct wire_event *first = (struct wire_event *)(void *)((uint8_t *)w->slot +
				wire_ring_at(ring));
		if (e + 1 == first + wire_ring_entries(ring)) {
			return first;
		}
	}
	return e + 1;
}

static void reserve_event(struct writer *w, struct writer_event *e) {
	e->epoch = atomic_load_explicit(&w->epoch, memory_order_relaxed);
	reserve(w, e->is_wide ? 2 : 1, e);
	e->entries[1] = e->is_wide ? after(w, e->entries[0]) : NULL;
}

struct writer_event writer_reserve(struct writer *w, enum wire_kind kind, uint64_t ptr,
		bool is_wide) {
	struct writer_event e = {.kind = kind, .ptr = ptr, .is_wide = is_wide};
	reserve_event(w, &e);
	return e;
}

void writer_stamp(struct writer *w, struct writer_event *e) {
	for (unsigned i = 0; i < 8; i++) {
		uint64_t epoch = see_epoch(w);
		bool is_same = epoch == e->epoch;
		bool is_of_all = wire_epoch_owner(epoch) == 0;
		e->stamp = is_same && is_of_all ? atomic_fetch_add(&w->segment->common->stamp, 1) : 0;
		if (is_same &&
				(!is_of_all ||
						atomic_load_explicit(&e->ring->reserved, memory_order_relaxed) == e->end)) {
			return;
		}
		for (unsigned k = 0; k < 1u + e->is_wide; k++) {
			publish(e->entries[k], wire_head(e->phases[k], KIND_VOID, 0, 0), 0);
		}
		if (!is_same) {
			put_epoch(w);
		}
		reserve_event(w, e);
	}
}

struct writer_event writer_begin(struct writer *w, enum wire_kind kind, uint64_t ptr,
		bool is_wide) {
	struct writer_event e = writer_reserve(w, kind, ptr, is_wide);
	writer_stamp(w, &e);
	return e;
}

void writer_publish(struct writer *w, const struct writer_event *e, uint64_t size, uint32_t node) {
	(void)w;
	if (!e->is_wide) {
		publish(e->entries[0], wire_head(e->phases[0], e->kind, e->stamp, e->ptr),
				wire_body(node, (uint32_t)size, e->stamp));
		return;
	}
	publish(e->entries[0], wire_wide_head(e->phases[0], e->ptr), wire_wide_body(e->ptr, size));
	publish(e->entries[1], wire_head(e->phases[1], e->kind, e->stamp, e->ptr & 0xff0),
			wire_body(node, WIRE_SIZE_WIDE, e->stamp));
}

void writer_label(struct writer *w, uint64_t now_ns) {
	uint64_t tick = atomic_load_explicit(&w->segment->common->tick_ns, memory_order_relaxed);
	if (tick == 0) {
		tick = now_ns - w->segment->start_ns;
	}
	if (tick == w->label_ns) {
		return;
	}
	w->label_ns = tick;
	if (wire_epoch_owner(atomic_load_explicit(&w->epoch, memory_order_relaxed)) == 0) {
		put_stamp(w);
	}
	struct writer_event e;
	reserve(w, 1, &e);
	publish(e.entries[0], wire_head(e.phases[0], KIND_TIME, 0, 0), tick);
}

uint32_t writer_recover(struct writer *w) {
	uint32_t n_void = 0;
	for (unsigned which = 0; which < N_RINGS; which++) {
		struct wire_ring *ring = &w->slot->rings[which];
		uint32_t n_entries = wire_ring_entries(which);
		struct wire_event *entries = (struct wire_event *)(void *)((uint8_t *)w->slot +
				wire_ring_at(which));
		uint64_t end = atomic_load(&ring->reserved);
		for (uint64_t i = atomic_load(&ring->taken); i < end; i++) {
			_Atomic uint64_t *head = &entries[i % n_entries].head;
			uint64_t phase = wire_phase(i, wire_ring_log2(which));
			if (((atomic_load(head) ^ phase) >> 63) != 0) {
				atomic_store_explicit(head, wire_head(phase, KIND_VOID, 0, 0),
						memory_order_release);
				n_void++;
			}
		}
	}
	return n_void;
}
