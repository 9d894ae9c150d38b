// SPDX-License-Identifier: MIT
/*
 * A private hash table of unit numbers. What a unit is stands in the segment, whole before its
 * number is in the table. The loser of a race leaves a unit that no frame names.
 */
#include "recorder/core/runtime/units.h"

enum { PROBES = 32, TABLE_BITS = SEGMENT_UNIT_HASH_BITS };

// ---- excerpts

/** From whose object a step copies, and how much. False: it copies nothing. */
static bool plan_step(const struct wire_step *step, struct guard *g, uint64_t object,
		uint64_t *from, uint32_t *bytes) {
	uint64_t count, next;
	switch (step->does) {
	case STEP_LOAD: *from = guard_load(g, object + step->offset, &next) ? next : 0; return false;
	case STEP_COPY: *bytes = step->bytes; return true;
	case STEP_COPY_COUNTED:
		count = guard_load(g, *from + step->count_at, &count) ? count : 0;
		count = count < step->bytes ? step->offset + count * step->scale : step->bytes;
		*bytes = count < step->bytes ? (uint32_t)count : step->bytes;
		return true;
	default: return false;
	}
}

static uint32_t copy(unsigned char *to, struct guard *g, uint64_t from, uint32_t bytes) {
	uint32_t n = 0;
	for (uint64_t word; n < bytes && guard_load(g, from + n, &word); n += sizeof word) {
		sys_copy(to + n, &word, sizeof word);
	}
	return n < bytes ? n : bytes;
}

/** Make it at `to`, which has room for the largest. Returns its bytes. */
static uint32_t excerpt(unsigned char *to, const struct wire_layout *l, struct guard *g,
		uint64_t object) {
	uint64_t from = object;
	uint32_t used = 0;
	for (unsigned i = 0; i < WIRE_N_STEPS && l->steps[i].does != STEP_END; i++) {
		const struct wire_step *step = &l->steps[i];
		uint32_t bytes;
		if (!plan_step(step, g, object, &from, &bytes) || used + bytes + 16 > WIRE_EXCERPT_MAX) {
			continue;
		}
		const uint32_t room = (bytes + 7) & ~7u;
		uint64_t at = step->does == STEP_COPY ? from + step->offset : from;
		const uint32_t head[2] = {copy(to + used + sizeof head, g, at, bytes), room};
		sys_copy(to + used, head, sizeof head);
		used += (uint32_t)sizeof head + room;
	}
	return used;
}

static void take_excerpt(struct wire_unit *u, const struct wire_layout *l, struct guard *g) {
	if (l->steps[0].does == STEP_END) {
		return;
	}
	uint64_t at = atomic_fetch_add(&segment.header->excerpt_used, WIRE_EXCERPT_MAX);
	uint64_t end = at + WIRE_EXCERPT_MAX;
	if (end <= segment.excerpts_open) {
		u->excerpt_at = at;
		u->excerpt_bytes = excerpt(segment.excerpts + at, l, g, u->object);
		// What is left over is the next one's, unless that has begun
		(void)atomic_compare_exchange_strong(&segment.header->excerpt_used, &end,
				at + u->excerpt_bytes);
	}
}

// ---- units

static uint32_t make(const struct runtime *r, struct guard *g, const struct unit_key *key) {
	uint32_t id = segment_take(&segment.header->n_units, segment.n_units_open);
	if (id == 0) {
		return 0;
	}
	struct wire_unit *u = &segment.units[id];
	for (unsigned i = 0; i < 3; i++) {
		u->identity[i] = key->identity[i];
	}
	u->object = key->object;
	u->excerpt_at = key->array;
	u->thread = key->thread;
	u->kind = r->layout->kind;
	u->layout = (uint16_t)r->row;
	u->module = r->module;
	take_excerpt(u, r->layout, g);
	atomic_store_explicit(&u->is_whole, 1, memory_order_release);
	segment_ring_bell(); // what is not in its excerpt may move
	return id;
}

static bool is_of(uint32_t id, const struct runtime *r, const struct unit_key *key) {
	const struct wire_unit *u = &segment.units[id];
	return u->identity[0] == key->identity[0] && u->identity[1] == key->identity[1] &&
			u->identity[2] == key->identity[2] && u->thread == key->thread && u->layout == r->row;
}

uint32_t units_find(const struct runtime *r, struct guard *g, const struct unit_key *key) {
	const uint64_t *id = key->identity;
	uint64_t hash = (id[0] ^ id[1] << 20 ^ id[2] << 44 ^ key->thread) * 0x9E3779B97F4A7C15ull;
	uint32_t fresh = 0;
	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint32_t *place = &segment.unit_hash[((hash >> (64 - TABLE_BITS)) + i) &
				((1u << TABLE_BITS) - 1)];
		// Acquire pairs with the exchange below
		uint32_t unit = atomic_load_explicit(place, memory_order_acquire);
		if (unit == 0) {
			fresh = fresh != 0 ? fresh : make(r, g, key);
			if (fresh == 0) {
				break;
			}
			if (atomic_compare_exchange_strong(place, &unit, fresh)) {
				return fresh;
			}
		}
		if (is_of(unit, r, key)) {
			if (key->array != 0) { // both may have moved before they were read
				segment.units[unit].excerpt_at = key->array;
				segment.units[unit].object = key->object;
			}
			return unit;
		}
	}
	atomic_fetch_add(&segment.header->units_lost, 1);
	return 0;
}
