// SPDX-License-Identifier: MIT
/*
 * Copies nodes from the target's numbering to dense ids. `dense` holds the id of each node of the
 * target: 0 if not yet copied, ON_PATH while its callers are looked up. An event's node is copied
 * by walking up to the first known caller, and down again. Overwritten memory can make the way up a
 * cycle, which ON_PATH ends.
 */
#include "collector/segment/segment.h"

enum { ON_PATH = UINT32_MAX };

static void make_room_for_node(struct tries *t) {
	(void)vec_grow((void **)&t->nodes, &t->node_room, t->n_nodes, 1, sizeof *t->nodes);
}

static void make_room_for_location(struct tries *t) {
	const uint32_t n = t->n_locations;
	(void)vec_grow((void **)&t->locations, &t->location_room, n, 1, sizeof *t->locations);
	(void)vec_grow((void **)&t->wheres, &t->where_room, n, 1, sizeof *t->wheres);
}

static struct rec_location read_where(const struct tries *t, uint64_t where) {
	uint32_t module = wire_where_module(where);
	uint64_t pc = wire_where_pc(where);
	return (struct rec_location){
			.pc = pc,
			.module = module < t->module_capacity && module <= WIRE_MODULE_MAX ? module : 0,
			.is_exact = (where & WIRE_EXACT_PC) != 0,
			.is_mark = pc == WIRE_PC_TRUNCATED,
	};
}

/** The location's id, new if needed. */
static uint32_t location_of(struct tries *t, uint64_t where) {
	const uint32_t hash = hash_pair((uint32_t)(where >> 32), (uint32_t)where);
	uint32_t id = INDEX_FIND(&t->by_where, hash, i, t->wheres[i] == where);
	if (id != INDEX_NONE) {
		return id;
	}
	make_room_for_location(t);
	id = t->n_locations++;
	(void)index_add(&t->by_where, hash, id);
	t->wheres[id] = where;
	t->locations[id] = read_where(t, where);
	RAISE_TO(t->n_modules, t->locations[id].module);
	return id;
}

uint32_t tries_add(struct tries *t, uint32_t parent, uint64_t where) {
	uint32_t location = location_of(t, where);
	make_room_for_node(t);
	t->nodes[t->n_nodes] = (struct rec_node){parent, location};
	return t->n_nodes++;
}

static uint64_t where_of(const struct tries *t, uint32_t id) {
	return atomic_load_explicit(&t->segment->nodes[id].where, memory_order_acquire);
}

/** Push unknown ids from `id` upwards; returns the dense id that they hang from. */
static uint32_t walk_up(struct tries *t, uint32_t id) {
	for (;;) {
		if (id == 0) {
			return 0;
		}
		if (id >= t->segment->node_capacity || t->dense[id] == ON_PATH || where_of(t, id) == 0) {
			t->bad_nodes++;
			return 0;
		}
		if (t->dense[id]) {
			return t->dense[id];
		}
		(void)vec_add(&t->path, id);
		t->dense[id] = ON_PATH;
		t->n_dense = id >= t->n_dense ? id + 1 : t->n_dense;
		id = t->segment->nodes[id].parent;
	}
}

/** The same place in `whole`, by where that has the module. */
static uint64_t where_in_whole(struct tries *t, uint64_t where) {
	uint32_t id = wire_where_module(where);
	if (id == 0 || id >= t->segment->module_capacity) {
		return where & (WIRE_PC_MASK | WIRE_EXACT_PC);
	}
	if (!t->modules[id] && t->meet) { // announced since the last poll
		tries_poll_modules(t, t->meet, t->user);
	}
	const struct wire_module *own = t->modules[id], *there = t->whole->modules[t->shared[id]];
	if (own && (own->kind == MODULE_PYTHON || own->kind == MODULE_V8)) {
		const uint32_t unit = wire_where_unit(where);
		return wire_where_of_unit(t->shared[id], unit ? t->share_unit(t->user, unit) : 0,
					   wire_where_position(where)) |
				(where & WIRE_EXACT_PC);
	}
	uint64_t moved = own && there ? there->bias - own->bias : 0;
	return (uint64_t)t->shared[id] << WIRE_MODULE_SHIFT | (where & WIRE_EXACT_PC) |
			((wire_where_pc(where) + moved) & WIRE_PC_MASK);
}

static uint32_t find_in_whole(const struct tries *t, uint32_t parent, uint64_t where) {
	struct tries *w = t->whole;
	const uint32_t location = location_of(w, where);
	const uint32_t hash = hash_pair(parent, location) + t->command;
	uint32_t id = INDEX_FIND_OR_ADD(&w->by_child, hash, i,
			w->nodes[i].parent == parent && w->nodes[i].location == location &&
					(parent != 0 || w->commands.items[i] == t->command),
			w->n_nodes);
	if (id == w->n_nodes) {
		make_room_for_node(w);
		w->nodes[w->n_nodes++] = (struct rec_node){parent, location};
		(void)EVERY(w->commands.n < w->n_nodes, vec_push(&w->commands));
		(void)EVERY(w->followers.n < w->n_nodes, vec_push(&w->followers));
		w->commands.items[id] = t->command;
	}
	return id;
}

/** Processes of one command meet most stacks in the same order: try the last follower first. */
static uint32_t add_to_whole(struct tries *t, uint32_t parent, uint64_t own_where) {
	struct tries *w = t->whole;
	const uint64_t where = where_in_whole(t, own_where);
	uint32_t id = t->last < w->followers.n ? w->followers.items[t->last] : 0;
	if (id == 0 || w->nodes[id].parent != parent || w->wheres[w->nodes[id].location] != where ||
			w->commands.items[id] != t->command) {
		id = find_in_whole(t, parent, where);
		w->followers.items[t->last] = id;
	}
	t->last = id;
	return id;
}

uint32_t tries_copy(struct tries *t, uint32_t id) {
	t->path.n = 0;
	uint32_t dense = walk_up(t, id);
	while (t->path.n > 0) {
		uint32_t at = t->path.items[--t->path.n];
		uint64_t where = where_of(t, at);
		bool is_own = wire_where_module(where) == 0 &&
				wire_where_pc(where) - t->own_at < t->own_bytes;
		dense = is_own     ? dense
				: t->whole ? add_to_whole(t, dense, where)
						   : tries_add(t, dense, where);
		t->dense[at] = dense;
	}
	return dense;
}

void tries_pass_by(struct tries *t, uint64_t at, uint64_t bytes) {
	t->own_at = at;
	t->own_bytes = bytes;
}

void tries_retire(struct tries *t, const uint32_t *locations, size_t n) {
	FREED uint8_t *is_gone = memory_new(t->n_nodes, sizeof *is_gone);
	for (size_t i = 0; i < n; i++) {
		t->wheres[locations[i]] = 0;
	}
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		is_gone[i] = is_gone[t->nodes[i].parent] || t->wheres[t->nodes[i].location] == 0;
	}
	for (uint32_t id = 1; id < t->n_dense; id++) {
		t->dense[id] = is_gone[t->dense[id]] ? 0 : t->dense[id];
	}
}

void tries_init(struct tries *t, const struct segment *segment) {
	*t = (struct tries){
			.segment = segment,
			.module_capacity = segment->module_capacity,
			.first_unseen = 1,
	};
	t->dense = pages_take(segment->node_capacity * sizeof *t->dense);
	t->modules = pages_take((WIRE_MODULE_MAX + 1) * sizeof(struct wire_module *));
	make_room_for_node(t);
	make_room_for_location(t);
	t->nodes[t->n_nodes++] = (struct rec_node){0};
	t->wheres[t->n_locations] = 0;
	t->locations[t->n_locations++] = (struct rec_location){0};
}

void tries_finish(struct tries *t) {
	if (!t || !t->segment) {
		return;
	}
	for (uint32_t id = 1; id <= t->n_modules && id < t->module_capacity; id++) {
		free(t->modules[id]);
	}
	pages_give(t->modules, (WIRE_MODULE_MAX + 1) * sizeof(struct wire_module *));
	pages_give(t->dense, t->segment->node_capacity * sizeof *t->dense);
	CALL_FOR(free_at, t, nodes, locations, wheres, shared);
	CALL_FOR(index_finish, t, by_where, by_child, by_module);
	CALL_FOR(vec_finish, t, path, commands, followers);
	*t = (struct tries){0};
}

static struct wire_module *copy_module(const struct wire_module *module) {
	struct wire_module *copy = memory_new(1, sizeof *copy);
	memcpy(copy, module, sizeof *copy);
	copy->path[sizeof copy->path - 1] = '\0';
	if (copy->build_id_bytes > sizeof copy->build_id) {
		copy->build_id_bytes = 0;
	}
	RAISE_TO(copy->end, copy->start);
	return copy;
}

void tries_poll_modules(struct tries *t,
		void (*announce)(void *user, uint32_t id, const struct wire_module *module), void *user) {
	uint32_t n = atomic_load_explicit(&t->segment->header->n_modules, memory_order_acquire);
	LOWER_TO(n, t->segment->module_capacity - 1);
	RAISE_TO(t->n_modules, n);
	// They are completed in any order: check all from the first gap on
	bool has_gap = false;
	for (uint32_t id = t->first_unseen; id <= n; id++) {
		const struct wire_module *module = &t->segment->modules[id];
		bool is_whole = atomic_load_explicit(&module->state, memory_order_acquire) == 1;
		if (is_whole && !t->modules[id]) {
			t->modules[id] = copy_module(module);
			announce(user, id, t->modules[id]);
		}
		has_gap |= !t->modules[id];
		t->first_unseen = has_gap ? t->first_unseen : id + 1;
	}
}

const struct wire_module *tries_module(const struct tries *t, uint32_t id) {
	return id < t->module_capacity ? t->modules[id] : NULL;
}

// ---- several segments

void tries_join(struct tries *t, struct tries *whole,
		uint32_t (*share_unit)(void *user, uint32_t unit), void *user) {
	t->share_unit = share_unit;
	t->user = user;
	t->shared = memory_new(t->segment->module_capacity, sizeof *t->shared);
	t->whole = whole;
	whole->module_capacity = WIRE_MODULE_MAX + 1;
}

/** Is it the same file, as far as known? Without a build-id: by name and size. */
static bool is_same_module(const struct wire_module *a, const struct wire_module *b) {
	return a->end - a->start == b->end - b->start && a->kind == b->kind &&
			a->build_id_bytes == b->build_id_bytes &&
			memcmp(a->build_id, b->build_id, sizeof a->build_id) == 0 &&
			strcmp(a->path, b->path) == 0;
}

uint32_t tries_share(struct tries *t, uint32_t id, const struct wire_module *module) {
	struct tries *w = t->whole;
	const struct slice build_id = slice_of(module->build_id, sizeof module->build_id);
	uint32_t hash = (uint32_t)slice_hash(slice_hash(SLICE_HASH, build_id),
			slice_of_text(module->path));
	uint32_t there = INDEX_FIND(&w->by_module, hash, i, is_same_module(w->modules[i], module));
	if (there == INDEX_NONE) {
		if (w->n_modules >= WIRE_MODULE_MAX) {
			return 0;
		}
		there = ++w->n_modules;
		(void)index_add(&w->by_module, hash, there);
		w->modules[there] = copy_module(module);
	}
	t->shared[id] = there;
	return there;
}
