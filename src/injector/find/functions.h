// SPDX-License-Identifier: MIT
#pragma once
/**
 * Which functions of a process allocate and free memory.
 *
 * They are found by their names in the symbol tables of its modules, dynamic and static, with the
 * prefixes that allocators are built with; in a static program without symbols by what glibc's look
 * like (stripped.h).
 */

#include "injector/find/known.h"
#include "injector/space.h"
#include "wire/resident.h"

struct found_function {
	const char *name;   // for people; lives as long as the modules
	const char *module; // path
	uint64_t address, size;
	uint64_t module_start, module_end;
	uint8_t what, ptr, size_register, times, behind; // as struct resident_hook has them
	uint64_t quiet_at; // of one that throws: the function that returns NULL instead
	const struct known_function *known;
	const char *why_not; // not NULL: it was found, but cannot be hooked
};

/** One entry per address. */
struct found_functions {
	VEC(struct found_function);
};

/** Does it allocate nothing, and is hooked for another reason? */
static inline bool found_is_beside(const struct found_function *f) {
	return f->what >= RESIDENT_CONFINES;
}

/** Add a module's function at `address`, as `known` has it, which outlives it. NULL: no memory. */
static inline struct found_function *found_add(struct found_functions *out,
		const struct module_code *module, const struct known_function *known, uint64_t address,
		uint64_t size) {
	struct found_function *item = vec_push(out);
	if (item) {
		*item = (struct found_function){
				.name = known->name,
				.module = module->name,
				.address = address,
				.size = size,
				.module_start = module->start,
				.module_end = module->end,
				.what = known->what,
				.ptr = known->ptr,
				.size_register = known->size,
				.times = known->times,
				.known = known,
		};
	}
	return item;
}

/** False: out of memory. */
bool find_functions(struct found_functions *out, const struct modules_code *modules,
		struct err *err);

/** Has it no symbols, and no loader that would bring others? */
bool find_is_stripped_static(const struct module_code *module);

// ---- parts of it, in files of their own

/**
 * Add glibc's allocation functions in a static program without symbols, if malloc, free, calloc
 * and realloc are all recognized beyond doubt, and nothing otherwise. memalign is added as well, or
 * with the reason why it cannot be hooked. False: out of memory.
 */
bool stripped_find(struct found_functions *out, const struct module_code *module);

/**
 * Of those found in `module`, from `first` on, drop C++ operators that are not to be hooked. Those
 * of jemalloc, tcmalloc and mimalloc allocate by themselves. Others, as those of a C++ library,
 * call functions that are hooked, and are left alone.
 */
void operators_judge(struct found_functions *out, size_t first, const struct module_code *module);

/**
 * Which code of glibc frees a thread's cached blocks when the thread ends, in each C library; 0
 * bytes: none was found.
 *
 * glibc keeps blocks that a thread has freed in a list of that thread (tcache). When the thread
 * ends it frees them once more, and the list itself. The program freed the ones long ago and has
 * never seen the other, so the recorder leaves out frees that come from there.
 */
void thread_cache_find(const struct modules_code *modules,
		struct resident_range caches[RESIDENT_THREAD_CACHES]);
