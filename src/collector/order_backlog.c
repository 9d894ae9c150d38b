// SPDX-License-Identifier: MIT
/*
 * While a reader waits for the number of a thread that was preempted, its own thread runs on and
 * fills its ring, within a millisecond if it does nothing but allocate. So that it need not wait for
 * room, and its events need not be taken out of order, published entries move from the big ring
 * into memory of ours, as they are. Only a run of published ones can: the owner will still write to
 * others. (From the small ring the thread has moved on anyway.)
 */
#include "base/vec.h"
#include "collector/order_parts.h"

void order_drop_backlog(struct order *o, struct reader *r) {
	o->n_backlog -= r->backlog.room;
	free(r->backlog.entries);
	r->backlog = (struct backlog){0};
}

/** Room for all from reader.at to `end`. */
static bool make_room(struct order *o, struct reader *r, uint64_t end) {
	struct backlog *b = &r->backlog;
	uint64_t at = r->at[RING_BIG];
	uint32_t room = b->room ? b->room : 2 * RING_BIG_ENTRIES;
	while (room < end - at) {
		room *= 2;
	}
	if (room == b->room) {
		return true;
	}
	if (o->n_backlog - b->room + room > o->limits.max_backlog) {
		return false;
	}
	struct wire_event *entries = calloc(room, sizeof *entries);
	if (!entries) {
		return false;
	}
	for (uint64_t i = at; i < b->end; i++) {
		entries[i & (room - 1)] = b->entries[i & (b->room - 1)];
	}
	free(b->entries);
	b->entries = entries;
	o->n_backlog += room - b->room;
	b->room = room;
	return true;
}

bool order_relieve(struct order *o, struct reader *r) {
	uint64_t from = order_taken(r, RING_BIG);
	uint64_t end = order_reserved(r, RING_BIG);
	if (r->is_gone || end - from < RING_BIG_ENTRIES / 2) {
		return true;
	}
	uint64_t to = from;
	while (to < end && order_is_published(r, RING_BIG, to)) {
		to++;
	}
	if (!make_room(o, r, to)) {
		return end - from < RING_BIG_ENTRIES / 4 * 3;
	}
	const struct wire_event *ring = r->entries[RING_BIG];
	for (uint64_t i = from; i < to; i++) {
		r->backlog.entries[i & (r->backlog.room - 1)] = ring[i & (RING_BIG_ENTRIES - 1)];
	}
	r->backlog.end = to;
	o->counts.relieved += to - from;
	return true;
}
