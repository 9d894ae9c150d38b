// SPDX-License-Identifier: MIT
/* Chooses blocks by bytes: one from each of 2,000 equal parts of the heap, so all large ones. */
#include "collector/looks/looks.h"

enum { TAKEN_MOST = 1 << 11 };

struct taking {
	struct types *types;
	uint32_t kind;
	uint64_t step, left; // bytes between chosen ones, about; and those left until the next
};

static void take_block(void *user, uint64_t ptr, uint64_t bytes, uint32_t stack) {
	struct taking *t = user;
	if (bytes < t->left) {
		t->left -= bytes;
		return;
	}
	t->left = t->step / 2 + hash_u64(ptr) % t->step; // for blocks come in patterns
	(void)vec_add(t->types, (struct typed){ptr, bytes, stack, 0, 1, t->kind});
}

void types_read(struct view *v, const struct aggregate *blocks, struct python_types *types) {
	uint64_t start_ns = clock_thread_cpu_ns(), words[PYTHON_HEAD_WORDS];
	uint32_t kind = types->layout ? REC_CLASS_PYTHON : REC_CLASS_NIM;
	uint64_t step = aggregate_now(blocks).live_bytes / TAKEN_MOST + 1;
	aggregate_live(blocks, take_block, &(struct taking){&v->types, kind, step, 0});
	EACH(b, v->types) {
		size_t n = b->bytes < sizeof words ? b->bytes : sizeof words;
		bool is_read = types->memory.read(types->memory.user, b->ptr, words, n);
		b->name = is_read ? python_type_of(types, words, b->bytes) : 0;
	}
	map_finish(&types->known);
	v->cost_ns += clock_thread_cpu_ns() - start_ns;
}

ORDER_OF(by_stack, struct typed, LOWEST(stack) ?: LOWEST(name));

void types_sum_up(struct types *t, const struct aggregate *blocks) {
	size_t n = 0;
	vec_keep(t, 0, b, aggregate_has(blocks, b->ptr, b->bytes, b->stack));
	vec_sort(t, by_stack);
	EACH(b, *t) {
		struct typed *last = n > 0 ? &t->items[n - 1] : NULL;
		if (last && last->stack == b->stack && last->name == b->name) {
			ADD_FIELDS(last, b, bytes, blocks);
		} else {
			t->items[n++] = *b;
		}
	}
	t->n = n;
	vec_keep(t, 0, b, b->name != 0 || (b + 1 < t->items + n && b[1].stack == b->stack));
}
