// SPDX-License-Identifier: MIT
/*
 * Events that take more than one entry, for an epoch, a stamp, a label or a large size. Their
 * entries are reserved at once. If a signal handler puts its own events behind them before they
 * have epoch and stamp, they would be newer than what follows: they are voided and reserved again,
 * and then state epoch and stamp in any case.
 */
#include "recorder/core/hook/event.h"

#include "recorder/core/hook/hook.h"
#include "recorder/core/unwind/runtimes.h"

// ---- labels

/** Update s->label_ns, the label of the entries that follow. False: it has not changed. */
static bool take_label(struct thread_state *s) {
	const uint64_t step_ns = 1 << 15; // between labels, while the collector sleeps
	const struct segment_header *h = segment.header;
	runtimes_look(); // often enough, but not each time
	// Pairs with segment_tick() and segment_arm(), without ordering: a thread that sees the
	// doorbell armed may still see an older tick. A label defines no order, and is late by one nap
	uint64_t label_ns = atomic_load_explicit(&segment.common->tick_ns, memory_order_relaxed);
	bool is_exact = (segment.options & SEGMENT_EXACT_TIME) != 0;
	bool takes_clock = (label_ns == 0 || is_exact) && segment_may_call_system();
	s->tick_ns = takes_clock ? UINT64_MAX : label_ns; // no tick is that large: look again next time
	if (takes_clock) {
		label_ns = host_clock_ns() - h->start_ns;
	}
	uint64_t before_ns = s->label_ns;
	uint64_t least_ns = before_ns + (takes_clock && !is_exact ? step_ns : 1);
	if (before_ns != UINT64_MAX && label_ns < least_ns) {
		return false; // labels never decrease
	}
	// Unless a handler, whose label is newer, came in between
	machine_local_replace(&s->label_ns, before_ns, label_ns);
	return true;
}

// ---- epochs and stamps

/** The epoch that an event of this thread belongs to now. Ends another thread's epoch. */
static uint64_t see_epoch(const struct thread_state *s) {
	_Atomic uint64_t *at = &segment.common->epoch;
	uint64_t epoch = atomic_load_explicit(at, memory_order_relaxed);
	for (;;) {
		uint32_t owner = wire_epoch_owner(epoch);
		// In a tree, the owner may be in another cell
		uint32_t slot = owner - 1 - segment.header->first_owner;
		if (owner == 0 || (slot < segment.n_slots && thread_state_of(segment_slot(slot)) == s)) {
			return epoch;
		}
		if (atomic_compare_exchange_weak(at, &epoch, wire_epoch_of_all(epoch))) {
			return wire_epoch_of_all(epoch);
		}
	}
}

/** An event's entries: epoch and whole stamp, where needed, and `n` more. */
struct place {
	uint64_t at, epoch, stamp;
	bool has_epoch, has_stamp;
};

static bool reserve_once(struct thread_state *s, uint32_t n, bool is_sure, struct place *p) {
	struct ring *r = &s->ring;
	uint64_t epoch = see_epoch(s);
	p->has_epoch = is_sure || epoch != s->epoch;
	p->has_stamp = is_sure || wire_epoch_owner(epoch) == 0;
	n += p->has_epoch + p->has_stamp;
	p->at = ring_reserve(r, n);
	p->epoch = see_epoch(s);
	p->stamp = wire_epoch_owner(p->epoch) == 0 ? hook_take_stamp() : 0;
	// What handlers put behind these entries is older, unless its epoch has no stamps
	bool is_same = p->epoch == epoch;
	bool is_first = ring_reserved(r) == p->at + n || (is_same && p->stamp == 0);
	bool is_good = (is_sure || is_same) && is_first;
	if (!is_good && (!is_sure || ring_has_room(r, HOOK_ENTRIES))) {
		ring_publish_void(r, p->at, n);
		return false;
	}
	return true;
}

/** Reserve `n` entries, and before them publish epoch and stamp. */
static uint64_t reserve(struct thread_state *s, uint32_t n, uint64_t *stamp) {
	uint64_t before = s->epoch;
	struct place p;
	for (bool is_sure = false; !reserve_once(s, n, is_sure, &p); is_sure = true) {
		before = s->epoch;
	}
	if (p.has_epoch) {
		ring_publish_value(&s->ring, p.at++, KIND_EPOCH, p.epoch);
	}
	if (p.has_stamp && p.stamp != 0) {
		ring_publish_value(&s->ring, p.at++, KIND_STAMP, p.stamp);
		s->stamp = p.stamp;
	} else if (p.has_stamp) {
		ring_publish_void(&s->ring, p.at++, 1);
	}
	// Handlers may rely on both from here on, unless one came and stated its own behind them
	machine_local_replace(&s->epoch, before, p.epoch);
	*stamp = p.stamp;
	return p.at;
}

/** Write an event in as many entries as it takes. True: hook_tell_collector() is due. */
static bool put_odd(struct thread_state *s, struct ring_event *event) {
	struct ring *r = &s->ring;
	uint64_t first = ring_reserved(r);
	bool has_label = take_label(s);
	bool is_wide = wire_is_wide(event->ptr, event->size);
	uint32_t n = 1u + has_label + is_wide;
	uint64_t at = reserve(s, n, &event->stamp);
	uint64_t end = at + n;
	if (has_label) {
		// Read only now: a handler may have published a newer one before the entry was reserved
		ring_publish_value(r, at++, KIND_TIME, s->label_ns);
	}
	if (is_wide) {
		ring_publish_wide(r, at, event);
	} else {
		ring_publish_event(r, at, event);
	}
	return ring_crossed_quarter(r, first, (uint32_t)(end - first));
}

void hook_write_odd(struct thread_state *s, enum wire_kind kind, uint64_t ptr, uint64_t size,
		uint32_t node) {
	if (put_odd(s, &(struct ring_event){.kind = kind, .node = node, .ptr = ptr, .size = size})) {
		hook_tell_collector();
	}
}

bool hook_put_again(struct thread_state *s, uint64_t index, const struct ring_event *event) {
	struct ring_event again = *event;
	if (event->stamp != 0 && ring_reserved(&s->ring) == index + 1) {
		ring_publish_value(&s->ring, index, KIND_STAMP, event->stamp);
	} else { // another epoch, or a handler put older events behind it
		ring_publish_void(&s->ring, index, 1);
	}
	return put_odd(s, &again) | ring_crossed_quarter(&s->ring, index, 1);
}

void hook_tell_collector(void) {
	segment_ring_bell();
	switch_look_at_collector();
}

uint64_t hook_label_now(const struct hook *h) {
	struct thread_state *s = thread_state_of(h->slot);
	uint64_t now_ns = segment_may_call_system()
			? host_clock_ns() - segment.header->start_ns
			: atomic_load_explicit(&segment.common->tick_ns, memory_order_relaxed);
	uint64_t before_ns = s->label_ns;
	if (before_ns == UINT64_MAX || now_ns > before_ns) {
		machine_local_replace(&s->label_ns, before_ns, now_ns);
		uint64_t at = ring_reserve(&s->ring, 1);
		ring_publish_value(&s->ring, at, KIND_TIME, s->label_ns);
	}
	return s->label_ns;
}

// ---- realloc

static void set_open_realloc(const struct hook *h, uint64_t ptr) {
	atomic_store_explicit(&thread_state_of(h->slot)->hooks[h->level].open_realloc, ptr,
			memory_order_relaxed);
}

void hook_resize(struct hook *h, const void *block, uint64_t size) {
	if (block != NULL && size == 0) {
		hook_free(h, block);
	} else if (block != NULL) {
		hook_write(h->slot, KIND_REALLOC, hook_address(block), 0, hook_free_node(h));
		set_open_realloc(h, hook_address(block));
	}
}

void hook_resized(struct hook *h, const void *block, uint64_t size, const void *now, bool is_late) {
	if (block == NULL || size == 0) {
		if (!is_late && (block == NULL || now != NULL)) {
			hook_allocated(h, now, size);
		}
	} else if (switch_is_on_or_paused()) {
		set_open_realloc(h, 0);
		if (now != NULL && !is_late) {
			hook_write(h->slot, KIND_MOVED, hook_address(now), size, h->node);
		} else {
			thread_count(&h->slot->failed, !is_late);
			hook_write(h->slot, KIND_STAYED, hook_address(block), 0, 0);
		}
	}
}
