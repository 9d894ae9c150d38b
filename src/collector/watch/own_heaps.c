// SPDX-License-Identifier: MIT
/* Finds unrecorded allocators, by what libraries define and hide and the recorder does not. */
#include "collector/watch/watch.h"

enum { LOOK_COST = 100 }; // checks take at most 1 % of a CPU

/** A second C library is the same code of the same file, mapped twice. */
static void look_for_second_libc(struct own_heaps *o, const struct process_space *space) {
	const struct smaps_area *first = space->mappings.items;
	EACH_WHILE(a, space->mappings, !o->has_second_libc) {
		o->has_second_libc = a->is_executable && find_is_libc(a->name) &&
				FIND(b, first, (size_t)(a - first),
						b->is_executable && a->inode == b->inode && a->offset == b->offset &&
								strcmp(a->name, b->name) == 0);
		if (o->has_second_libc) {
			o->tell(o->user, a->name, "malloc, calloc, realloc, free", 4,
					"they belong to a second C library, loaded in its own namespace (dlmopen)");
		}
	}
}

void own_heaps_meet(struct own_heaps *o, const char *path, bool is_collector) {
	is_collector |= strncmp(path_base_name(path), "libgc.so", 8) == 0;
	if (!o->has_collector && is_collector) {
		o->has_collector = true;
		o->tell(o->user, path, "GC_malloc, GC_malloc_atomic, GC_realloc, GC_free", 4,
				"no call shows what this garbage collector frees");
	}
}

/** The recorder's symbol table in the program, where the symbols that it hides are 0. */
static struct elf_symbols symbols_of_recorder(const struct modules_code *modules, pid_t program,
		void **memory) {
	EACH(m, *modules) {
		struct elf_symbols s = elf_symbols_of(&m->image, SHT_DYNSYM);
		if (!strstr(m->name, RECORDER_PRELOADED) || s.n == 0) {
			continue;
		}
		struct iovec here = {malloc(s.table.size), s.table.size};
		struct iovec there = {(void *)(uintptr_t)(m->bias +
									  elf_section_named(&m->image, ".dynsym").address),
				s.table.size};
		*memory = here.iov_base;
		if (here.iov_base &&
				process_vm_readv(program, &here, 1, &there, 1, 0) == (ssize_t)s.table.size) {
			s.table = slice_of(here.iov_base, s.table.size);
			return s;
		}
	}
	return (struct elf_symbols){0};
}

static bool is_hidden(const void *recorder, const char *name) {
	struct elf_symbols s = *(const struct elf_symbols *)recorder;
	struct elf_symbol symbol;
	return elf_symbols_find(&s, name, &symbol) && symbol.address == 0;
}

/** What a newly seen module hides. `recorder` is empty if none is preloaded. */
static void look_at(struct own_heaps *o, const struct module_code *m,
		const struct elf_symbols *recorder) {
	char names[512];
	own_heaps_meet(o, m->name, find_is_collector(m));
	if (!o->has_go && elf_is_go(&m->image)) {
		o->has_go = true;
		o->tell(o->user, m->name, "runtime.mallocgc", 1,
				"Go takes its memory from the system, and no call shows what it frees; use Go's "
				"own profiler (runtime/pprof)");
	}
	uint32_t n = recorder->n > 0 ? find_own_allocator(m, is_hidden, recorder, names, sizeof names)
								 : 0;
	if (n > 0) {
		o->tell(o->user, m->name, names, n,
				"the library calls its own copies, which bypass the preloaded recorder");
	}
}

static void look_at_modules(struct own_heaps *o, const struct process_space *space, pid_t program,
		bool is_preloaded) {
	SCOPED_BY(modules_code_close) struct modules_code modules;
	if (!modules_code_open(&modules, space, program, NULL)) {
		return;
	}
	FREED void *memory = NULL;
	struct elf_symbols recorder = {0};
	if (is_preloaded) {
		recorder = symbols_of_recorder(&modules, program, &memory);
	}
	EACH_THAT(m, modules,
			(recorder.n > 0 || !is_preloaded) && !FIND_IN(seen, o->seen, *seen == m->inode) &&
					vec_add(&o->seen, m->inode)) {
		look_at(o, m, &recorder);
	}
}

void own_heaps_look(struct own_heaps *o, pid_t program, bool is_preloaded, uint64_t code_bytes,
		uint64_t now_ns) {
	if (code_bytes == o->code_bytes || now_ns < o->next_ns) {
		return;
	}
	SCOPED(process_space) space;
	uint64_t start_ns = clock_thread_cpu_ns(); // waiting for a CPU costs nobody anything
	if (!process_space_read(&space, program, NULL)) {
		return;
	}
	o->code_bytes = code_bytes;
	if (is_preloaded) {
		look_for_second_libc(o, &space);
	}
	look_at_modules(o, &space, program, is_preloaded);
	o->next_ns = now_ns + (clock_thread_cpu_ns() - start_ns) * LOOK_COST;
}
