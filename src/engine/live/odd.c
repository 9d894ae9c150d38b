// SPDX-License-Identifier: MIT

/* A hash table with removal, for addresses outside the shadow. */

#include "engine/live/odd.h"

#include "base/index.h"
#include "engine/live/blocks.h"

static uint32_t home_of(const struct odd *o, uint64_t ptr) {
	return (uint32_t)hash_u64(ptr) & o->mask;
}

/** Where `ptr` is or would be put. */
static struct odd_slot *place_of(const struct odd *o, uint64_t ptr) {
	uint32_t at = home_of(o, ptr);
	while (o->slots[at].block != BLOCK_NONE && o->slots[at].ptr != ptr) {
		at = (at + 1) & o->mask;
	}
	return &o->slots[at];
}

bool odd_reserve(struct odd *o) {
	uint64_t size = o->slots ? (uint64_t)o->mask + 1 : 0;
	if (((uint64_t)o->n + o->n_held + 1) * 2 <= size) {
		return true;
	}
	size = size ? size * 2 : 64;
	struct odd grown = {.n = o->n, .n_held = o->n_held, .mask = (uint32_t)(size - 1)};
	if (size > (uint64_t)1 << 32 || !(grown.slots = calloc(size, sizeof *grown.slots))) {
		return false;
	}
	for (uint64_t i = 0; o->slots && i <= o->mask; i++) {
		if (o->slots[i].block != BLOCK_NONE) {
			*place_of(&grown, o->slots[i].ptr) = o->slots[i];
		}
	}
	free(o->slots);
	*o = grown;
	return true;
}

uint32_t odd_put(struct odd *o, uint64_t ptr, uint32_t block) {
	struct odd_slot *slot = place_of(o, ptr);
	uint32_t replaced = slot->block;
	*slot = (struct odd_slot){.ptr = ptr, .block = block};
	o->n += replaced == BLOCK_NONE;
	return replaced;
}

uint32_t odd_at(const struct odd *o, uint64_t ptr) {
	return o->slots ? place_of(o, ptr)->block : BLOCK_NONE;
}

uint32_t odd_take(struct odd *o, uint64_t ptr) {
	if (!o->slots) {
		return BLOCK_NONE;
	}
	struct odd_slot *slot = place_of(o, ptr);
	uint32_t block = slot->block;
	if (block == BLOCK_NONE) {
		return BLOCK_NONE;
	}
	// Those behind move up, unless that would put them before their home
	uint32_t hole = (uint32_t)(slot - o->slots);
	for (uint32_t at = (hole + 1) & o->mask; o->slots[at].block != BLOCK_NONE;
			at = (at + 1) & o->mask) {
		uint32_t home = home_of(o, o->slots[at].ptr);
		if (((at - home) & o->mask) >= ((at - hole) & o->mask)) {
			o->slots[hole] = o->slots[at];
			hole = at;
		}
	}
	o->slots[hole].block = BLOCK_NONE;
	o->n--;
	return block;
}

void odd_finish(struct odd *o) {
	free(o->slots);
	*o = (struct odd){0};
}
