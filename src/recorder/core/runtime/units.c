// SPDX-License-Identifier: MIT
/*
 * A private hash table of unit numbers. The unit itself is in the segment, whole before its number
 * is in the table. The loser of a race leaves a unit that no frame names.
 */
#include "recorder/core/runtime/units.h"

enum { PROBES = 32, TABLE_BITS = SEGMENT_UNIT_HASH_BITS };

// ---- excerpts

/** Copy a piece, as far as it is readable, behind its size. Returns the bytes it takes. */
static uint32_t put_piece(unsigned char *to, struct guard *g, uint64_t from, uint64_t bytes) {
	uint32_t head[2] = {0, ((uint32_t)bytes + 7) & ~7u};
	unsigned char *copy = to + sizeof head;
	for (uint64_t word; head[0] < bytes && guard_load(g, from + head[0], &word);) {
		sys_copy(copy + head[0], &word, sizeof word);
		head[0] += sizeof word;
	}
	head[0] = head[0] < bytes ? head[0] : (uint32_t)bytes;
	sys_copy(to, head, sizeof head);
	return (uint32_t)sizeof head + head[1];
}

/** Copy the object of a text, or of bytes, whose address a code object has at `where`. */
static uint32_t put_counted(unsigned char *to, struct guard *g, uint64_t where, uint32_t head,
		uint32_t unit, uint64_t most) {
	uint64_t object, n;
	(void)guard_load(g, where, &object);
	(void)guard_load(g, object + PYTHON_LENGTH, &n);
	const uint64_t bytes = head + unit * (n < most ? n : most);
	return put_piece(to, g, object, bytes < most ? bytes : most);
}

/** Copy a Python code object; `to` has room for the largest. Returns the excerpt's bytes. */
static uint32_t excerpt(unsigned char *to, const uint32_t *fields, struct guard *g, uint64_t code) {
	enum { CODE_MOST = 512, NAME_MOST = 1 << 10, FILE_MOST = 2 << 10, LINES_MOST = 4 << 10 };
	enum { CHARACTER_MOST = 4, HEADS = 4 * 2 * sizeof(uint32_t) };
	_Static_assert(HEADS + CODE_MOST + NAME_MOST + FILE_MOST + LINES_MOST <= WIRE_EXCERPT_MAX, "");
	const uint64_t bytes = fields[PYTHON_INSTRUCTIONS] + 8ull, file = code + fields[PYTHON_FILE];
	const uint32_t wide = fields[PYTHON_WIDE_TEXT];
	uint32_t used = put_piece(to, g, code, bytes < CODE_MOST ? bytes : CODE_MOST);
	used += put_counted(to + used, g, file + PYTHON_NAME_AFTER_FILE, wide, CHARACTER_MOST,
			NAME_MOST);
	used += put_counted(to + used, g, file, wide, CHARACTER_MOST, FILE_MOST);
	used += put_counted(to + used, g, file + PYTHON_LINES_AFTER_FILE, PYTHON_BYTES_HEAD, 1,
			LINES_MOST);
	return used;
}

static void take_excerpt(struct wire_unit *u, const struct wire_layout *l, struct guard *g) {
	if (l->kind != MODULE_PYTHON) {
		return;
	}
	uint64_t at = atomic_fetch_add(&segment.header->excerpt_used, WIRE_EXCERPT_MAX);
	uint64_t end = at + WIRE_EXCERPT_MAX;
	if (end <= segment.excerpts_open) {
		u->excerpt_at = at;
		u->excerpt_bytes = excerpt(segment.excerpts + at, l->fields, g, u->object);
		// What is left over goes to the next one, unless that has begun
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
	segment_ring_bell(); // what its excerpt lacks may move
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
