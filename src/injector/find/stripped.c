// SPDX-License-Identifier: MIT
/*
 * The functions of glibc's malloc.c call each other, and some complain with a sentence that no
 * other has. Those are recognized by their sentences, the others by whom they call and who calls
 * them:
 *
 *      "realloc(): invalid pointer"    realloc ──────► malloc ──► _int_malloc  "smallbin double..."
 *                                         │ │                          ▲  ▲
 *      "realloc(): invalid old size"      │ └► _int_realloc ───────────┘  │
 *                                         ▼                     calloc ───┤ (multiplies)
 *      "free(): invalid pointer"       free ─► _int_free                  │
 *                                         └──► munmap_chunk "munmap_..."  │
 *                        _mid_memalign ──────► _int_memalign ─────────────┘ "newsize >= nb && ..."
 *
 * Each must be the only one that fits. That holds for malloc.c from 2.19 on, with any compiler; up
 * to 2.33 there are twins that check more (free_check and the like), which are only called by
 * pointers. Where another version or compiler differs, nothing fits, and nothing is hooked.
 *
 * execve alone begins with its system call.
 */
#include "injector/find/functions.h"

enum { MALLOC_ALIGNMENT = 16 };

/** What is known of a program, as indexes of functions. */
struct malloc_parts {
	uint32_t int_free, munmap_chunk, int_malloc, int_realloc, int_memalign;
	uint32_t malloc, free, calloc, realloc, memalign;
};

// ---- sets of functions

static uint32_t only_one(const struct code_users *users) {
	return users->is_whole && users->n == 1 ? users->items[0] : CODE_NO_FUNCTION;
}

static uint32_t only_user_of_text(const struct code_map *m, const char *text) {
	const struct code_users users = code_map_users_of_text(m, text);
	return only_one(&users);
}

static void drop(struct code_users *users, uint32_t function) {
	vec_keep(users, 0, id, *id != function);
}

/** Keep those that `function` refers to. */
static void keep_used_by(const struct code_map *m, struct code_users *users, uint32_t function) {
	vec_keep(users, 0, id, code_map_refers(m, function, *id));
}

static void keep_common(struct code_users *users, const struct code_users *others) {
	vec_keep(users, 0, id, code_users_have(others, *id));
	users->is_whole &= others->is_whole;
}

/** Twins that check more are only called through pointers. */
static void keep_called(const struct code_map *m, struct code_users *users) {
	vec_keep(users, 0, id, code_map_is_called(m, *id));
}

// ---- one after the other

static uint32_t find_int_free(const struct code_map *m) {
	struct code_users users = code_map_users_of_text(m, "free(): invalid pointer");
	const struct code_users others = code_map_users_of_text(m, "double free or corruption (!prev)");
	if (users.n > 1) {
		keep_common(&users, &others);
	}
	return only_one(&users);
}

static uint32_t find_realloc(const struct code_map *m, const struct malloc_parts *p) {
	struct code_users users = code_map_users_of_text(m, "realloc(): invalid pointer");
	const struct code_users callers = code_map_users(m, p->int_realloc);
	keep_common(&users, &callers);
	keep_called(m, &users);
	return only_one(&users);
}

/** It frees both kinds of blocks, and realloc to size 0 calls it. */
static uint32_t find_free(const struct code_map *m, const struct malloc_parts *p) {
	struct code_users users = code_map_users(m, p->int_free);
	const struct code_users others = code_map_users(m, p->munmap_chunk);
	keep_common(&users, &others);
	drop(&users, p->int_free);
	drop(&users, p->realloc);
	keep_used_by(m, &users, p->realloc);
	return only_one(&users);
}

/** realloc of NULL calls it; it calls the function that makes a thread's cache. */
static uint32_t find_malloc(const struct code_map *m, const struct malloc_parts *p) {
	struct code_users users = code_map_users(m, p->int_malloc);
	drop(&users, p->int_malloc);
	drop(&users, p->int_realloc);
	keep_used_by(m, &users, p->realloc);
	const struct code_users all = users;
	vec_keep(&users, 0, id,
			!ANY(k, all.n, all.items[k] != *id && code_map_refers(m, all.items[k], *id)));
	return only_one(&users);
}

static uint32_t find_calloc(const struct code_map *m, const struct malloc_parts *p) {
	struct code_users users = code_map_users(m, p->int_malloc);
	const uint32_t others[] = {p->int_malloc, p->int_realloc, p->int_memalign, p->malloc,
			p->realloc};
	vec_keep(&users, 0, id,
			!ANY(i, N_OF(others), others[i] == *id) && code_multiplies(code_map_code(m, *id)));
	keep_called(m, &users);
	return only_one(&users);
}

/** What all of its kind go through, (alignment, size), unless it was inlined. */
static uint32_t find_memalign(const struct code_map *m, const struct malloc_parts *p) {
	struct code_users users = code_map_users(m, p->int_memalign);
	drop(&users, p->int_memalign);
	keep_called(m, &users);
	uint32_t found = only_one(&users);
	return found != CODE_NO_FUNCTION &&
					code_compares_first(code_map_code(m, found), MALLOC_ALIGNMENT)
			? found
			: CODE_NO_FUNCTION;
}

static uint32_t find_execve(const struct code_map *m) {
	uint32_t found = CODE_NO_FUNCTION, n = 0;
	EACH_NUMBER(id, (uint32_t)m->functions.n,
			code_begins_with_call(code_map_code(m, id), SYS_execve)) {
		found = id;
		n++;
	}
	return n == 1 ? found : CODE_NO_FUNCTION;
}

static bool is_whole(const struct malloc_parts *p) {
	const uint32_t all[] = {p->int_free, p->munmap_chunk, p->int_malloc, p->int_realloc, p->malloc,
			p->free, p->calloc, p->realloc};
	return ALL(i, N_OF(all), all[i] != CODE_NO_FUNCTION && ALL(k, i, all[k] != all[i]));
}

static bool recognize(const struct code_map *m, struct malloc_parts *p) {
	*p = (struct malloc_parts){
			.int_free = find_int_free(m),
			.munmap_chunk = only_user_of_text(m, "munmap_chunk(): invalid pointer"),
			.int_malloc = only_user_of_text(m, "malloc(): smallbin double linked list corrupted"),
			.int_realloc = only_user_of_text(m, "realloc(): invalid old size"),
			.int_memalign = only_user_of_text(m,
					"newsize >= nb && (((unsigned long) (chunk2mem (p))) % alignment) == 0"),
	};
	if (p->int_realloc == CODE_NO_FUNCTION ||
			(p->realloc = find_realloc(m, p)) == CODE_NO_FUNCTION) {
		return false;
	}
	p->free = find_free(m, p);
	p->malloc = find_malloc(m, p);
	p->calloc = find_calloc(m, p);
	p->memalign = find_memalign(m, p);
	return is_whole(p);
}

// ---- what is found

static bool add(struct found_functions *out, const struct module_code *module,
		const struct known_function *known, const struct code_map *m, uint32_t function) {
	const bool is_found = function != CODE_NO_FUNCTION;
	const struct code_function there = is_found ? m->functions.items[function]
												: (struct code_function){0};
	struct found_function *f = found_add(out, module, known,
			is_found ? module->bias + there.address : 0, there.size);
	if (f && !is_found) {
		f->why_not = "the program is stripped, and the function was not recognized";
	}
	return f != NULL;
}

bool stripped_find(struct found_functions *out, const struct module_code *module) {
	SCOPED(code_map) map;
	struct malloc_parts p;
	bool ok = true;
	if (code_map_init(&map, &module->image) && recognize(&map, &p)) {
		ok = add(out, module, known_function_of("malloc"), &map, p.malloc) &&
				add(out, module, known_function_of("free"), &map, p.free) &&
				add(out, module, known_function_of("calloc"), &map, p.calloc) &&
				add(out, module, known_function_of("realloc"), &map, p.realloc) &&
				add(out, module, known_function_of("memalign"), &map, p.memalign);
		uint32_t execve = ok ? find_execve(&map) : CODE_NO_FUNCTION;
		ok = ok &&
				(execve == CODE_NO_FUNCTION ||
						add(out, module, known_beside("execve"), &map, execve));
	}
	return ok;
}

// ---- the code that frees the cache of an ending thread

/** By a message of its own, which it has since glibc 2.32. */
static struct resident_range cache_by_sentence(const struct module_code *module) {
	SCOPED(code_map) map;
	struct resident_range found = {0};
	uint32_t id = code_map_init(&map, &module->image)
			? only_user_of_text(&map, "tcache_thread_shutdown(): unaligned tcache chunk detected")
			: CODE_NO_FUNCTION;
	if (id != CODE_NO_FUNCTION) {
		const struct code_function *f = &map.functions.items[id];
		found = (struct resident_range){module->bias + f->address, f->size};
	}
	return found;
}

void thread_cache_find(const struct modules_code *modules,
		struct resident_range caches[RESIDENT_THREAD_CACHES]) {
	memset(caches, 0, RESIDENT_THREAD_CACHES * sizeof *caches);
	for (size_t i = 0, n = 0; i < modules->n && n < RESIDENT_THREAD_CACHES; i++) {
		const struct module_code *module = &modules->items[i];
		struct elf_symbol symbol;
		struct resident_range found = {0};
		if (n > 0 && !find_is_libc(module->name)) {
			continue;
		}
		// Compilers inline the function into its only caller
		if (find_code(module, "tcache_thread_shutdown", &symbol) ||
				find_code(module, "__malloc_arena_thread_freeres", &symbol)) {
			found = (struct resident_range){module->bias + symbol.address, symbol.size};
		}
		bool may_lack_names = find_is_libc(module->name) ||
				(modules->n == 1 && elf_symbols_of(&module->image, SHT_SYMTAB).n == 0);
		found = found.bytes == 0 && may_lack_names ? cache_by_sentence(module) : found;
		caches[n] = found;
		n += found.bytes != 0;
	}
}
