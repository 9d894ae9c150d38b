// SPDX-License-Identifier: MIT
/*
 * Arenas and their heaps, chunk by chunk, and large blocks, each with a mapping of its own.
 *
 *   libc's data: main's arena ──next──► arena ──next──► ... back to main's
 *                  │ top                  │ top
 *   [heap]  ┌──┬──┬▼───┐     64 MiB:┌─────▼┐──prev──►┌──────┐
 *           │  │  │top │            │ heap │         │ heap │
 *           └──┴──┴────┘            └──────┘         └──────┘
 *
 * An arena is recognized by its bins: an empty one points to itself. A heap counts only if its
 * chunks lead from its beginning exactly to its end.
 *
 * A chunk begins 16 bytes before its block: with the size of the chunk before it, if that is free,
 * and its own size with three flags. Whether it is in use is told by a flag of the chunk behind it.
 */
#include "injector/space.h"

enum {
	PAGE = 4096,
	WINDOW = 256 << 10,
	DATA_MAX = 64 << 20, // of a static program
	EMPTY_BINS_MIN = 32, // bins of large sizes are empty in any program
	ARENAS_MAX = 4096,
	HEAPS_MAX = 1 << 16,
	HEAP_INFO = 48,     // bytes of it,
	HEAP_INFO_OLD = 32, // before 2.35
	ALIGN_MAX_LOG2 = 26,
	CHUNK_HEAD = 16,
	CHUNK_MIN = 32,
	IN_USE_BEFORE = 1, // flags of a size
	IS_MAPPED = 2,
	SIZE_FLAGS = 7,
	N_BINS = 127,
	N_FASTBINS = 10,
};

static const uint64_t HEAP_MAX_BYTES = 64ull << 20;

/** malloc_state, from glibc 2.27 on. */
struct arena_image {
	int32_t mutex, flags, have_fast, pad;
	uint64_t fastbins[N_FASTBINS];
	uint64_t top, last_remainder;
	uint64_t bins[2 * N_BINS];
	uint32_t binmap[4];
	uint64_t next, next_free, n_threads;
	uint64_t system_bytes, max_system_bytes;
};
_Static_assert(sizeof(struct arena_image) == 2200, "malloc_state");

struct heap_arena {
	uint64_t at;
	struct arena_image image;
};

/** The part of malloc_par that counts: four numbers, two sizes, and the start of the heap. */
struct heap_parameters {
	int32_t n_mapped, max_mapped, top_mapped, is_fixed;
	uint64_t mapped_bytes, top_mapped_bytes, heap_begin;
};

struct heap_walker {
	struct heap_walk *out;
	const struct process_space *space;
	int memory;      // of /proc/PID/mem
	uint8_t *window; // of what is read in order: `n` bytes from `at` on
	uint64_t at;
	size_t n;
	VEC(struct heap_arena) arenas; // the first is main's
	struct heap_parameters parameters;
	uint8_t *data; // the C library's writable data, where main's arena was found
	size_t data_bytes;
	bool has_failed; // no memory
};

// ---- memory

static bool heap_read(const struct heap_walker *w, uint64_t at, void *to, size_t bytes) {
	return pread(w->memory, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/** Add a block. False: no memory. */
static bool heap_add(struct heap_walker *w, uint64_t chunk, uint64_t size) {
	// A chunk in use extends into the first word of the next, but a mapped one does not
	bool ok = vec_add(&w->out->blocks, (struct extent){chunk + CHUNK_HEAD, size - 8});
	w->has_failed |= !ok;
	return ok;
}

/** Eight bytes, through the window. False: unreadable. */
static inline bool read_word(struct heap_walker *w, uint64_t at, uint64_t *out) {
	uint64_t into = at - w->at; // huge if it is before the window
	if (into > w->n || w->n - into < sizeof *out) {
		// Not by process_vm_readv: it pins pages, and the kernel gives the copy its own for that
		ssize_t n = pread(w->memory, w->window, WINDOW, (off_t)at);
		w->at = at;
		w->n = n > 0 ? (size_t)n : 0;
		into = 0;
	}
	bool ok = into + sizeof *out <= w->n;
	memcpy(out, w->window + into, ok ? sizeof *out : 0);
	return ok;
}

// ---- arenas

static uint64_t bin_address(uint64_t arena, unsigned bin) {
	return arena + offsetof(struct arena_image, bins) + 16ull * bin - CHUNK_HEAD;
}

/** Empty bins alone do not tell where the arena begins: each points to itself at any offset. */
static bool looks_like_arena(const struct arena_image *a, uint64_t at, uint64_t main) {
	unsigned n_empty = 0;
	for (unsigned i = 0; i < N_BINS; i++) {
		uint64_t own = bin_address(at, i);
		n_empty += a->bins[2 * i] == own && a->bins[2 * i + 1] == own;
		if ((a->bins[2 * i] == own) != (a->bins[2 * i + 1] == own)) {
			return false;
		}
	}
	bool is_unused = a->top == bin_address(at, 0);
	// The next in the ring is `main` itself, or lies at a heap's beginning
	uint64_t into = a->next & (HEAP_MAX_BYTES - 1);
	bool is_ring = a->next == main || into == HEAP_INFO || into == HEAP_INFO_OLD;
	return n_empty >= EMPTY_BINS_MIN && a->mutex >= 0 && a->mutex <= 2 && a->top % 16 == 0 &&
			is_ring && a->system_bytes <= a->max_system_bytes && (a->top > a->system_bytes) &&
			is_unused == (a->system_bytes == 0);
}

/** The library's writable data, or that of a static program. */
static bool find_main(struct heap_walker *w, const struct smaps_area *m) {
	uint64_t bytes = m->end - m->start;
	uint8_t *data = bytes <= DATA_MAX ? malloc(bytes) : NULL;
	ssize_t got = data ? pread(w->memory, data, bytes, (off_t)m->start) : -1;
	for (size_t i = 0; got > 0 && i + sizeof(struct arena_image) <= (size_t)got; i += 16) {
		// The bin of the largest chunks first: it is the least likely to have any
		uint64_t last;
		memcpy(&last, data + i + offsetof(struct arena_image, bins) + 16 * (N_BINS - 1),
				sizeof last);
		struct heap_arena arena = {.at = m->start + i};
		if (last != bin_address(arena.at, N_BINS - 1)) {
			continue;
		}
		memcpy(&arena.image, data + i, sizeof arena.image);
		if (looks_like_arena(&arena.image, arena.at, arena.at) && vec_add(&w->arenas, arena)) {
			w->data = data;
			w->data_bytes = (size_t)got;
			return true;
		}
	}
	free(data);
	return false;
}

/** Follow the ring of arenas from main's. A broken one ends there, and is counted. */
static void follow_arenas(struct heap_walker *w) {
	uint64_t main_at = w->arenas.items[0].at;
	for (uint64_t at = w->arenas.items[0].image.next; at != main_at;) {
		struct heap_arena arena = {.at = at};
		if (w->arenas.n == ARENAS_MAX || !heap_read(w, at, &arena.image, sizeof arena.image) ||
				!looks_like_arena(&arena.image, at, main_at) || !vec_add(&w->arenas, arena)) {
			w->out->n_unsure++;
			return;
		}
		at = arena.image.next;
	}
}

// ---- malloc's parameters

/** Where writable memory without a file ends, from there on; [heap] whatever its protection. */
static uint64_t run_end(const struct heap_walker *w, uint64_t at) {
	uint64_t end = at;
	EACH(m, w->space->mappings) {
		bool is_heap = strcmp(m->name, "[heap]") == 0;
		bool is_plain = m->name[0] == '\0' && m->is_writable && !m->is_shared;
		end = m->start <= end && end < m->end && (is_plain || is_heap) ? m->end : end;
	}
	return end;
}

/** Since 2.35 a fifth number stands before the four, followed by 4 bytes of padding. */
static bool read_parameters(const uint8_t *at, unsigned padding, struct heap_parameters *out) {
	memcpy(out, at, 16);
	memcpy(&out->mapped_bytes, at + 16 + padding, 24);
	return out->n_mapped >= 0 && out->n_mapped <= out->top_mapped &&
			out->mapped_bytes % PAGE == 0 && out->mapped_bytes <= out->top_mapped_bytes &&
			(out->is_fixed & ~1) == 0;
}

/** Find malloc's parameters, of which the heap's beginning is one, in main's arena's data. */
static bool find_parameters(struct heap_walker *w) {
	struct heap_parameters *out = &w->parameters;
	enum { BEFORE = 36 }; // bytes of them before heap_begin, padding included
	bool is_found = false;
	for (size_t i = 40; !is_found && i + 8 <= w->data_bytes; i += 8) {
		uint64_t begin;
		memcpy(&begin, w->data + i, sizeof begin);
		// The heap begins at the break, or a little after it in static programs
		is_found = begin >= w->space->brk_start && begin < w->space->brk_start + 64 * PAGE &&
				begin <= w->arenas.items[0].image.top &&
				(read_parameters(w->data + i - BEFORE, 4, out) ||
						read_parameters(w->data + i - BEFORE + 4, 0, out));
	}
	*out = is_found ? *out : (struct heap_parameters){0};
	return is_found;
}

// ---- heaps

/**
 * Chunks from `at` to the top chunk or, where a heap ended before the next, to the two chunks that
 * glibc ends it with: of 16 bytes and of none.
 */
static bool walk_chunks(struct heap_walker *w, uint64_t at, uint64_t top, uint64_t end) {
	uint64_t size, next = 0;
	bool is_other = w->arenas.n > 0 && top != w->arenas.items[0].image.top;
	if (at != top && !read_word(w, at + 8, &next)) {
		return false;
	}
	while (at != top) {
		if (at > end - CHUNK_HEAD) {
			return false;
		}
		size = next;
		uint64_t bytes = size & ~(uint64_t)SIZE_FLAGS;
		if (bytes == CHUNK_HEAD && is_other && read_word(w, at + CHUNK_HEAD + 8, &next) &&
				(next & ~(uint64_t)SIZE_FLAGS) == 0) {
			return end - at <= 2 * CHUNK_MIN;
		}
		if (bytes < CHUNK_MIN || bytes % 16 != 0 || (size & IS_MAPPED) || bytes > end - at) {
			return false;
		}
		if (at < top && at + bytes > top) {
			return at + bytes + CHUNK_MIN > end; // the top a moment ago: a block is being split off
		}
		if (!read_word(w, at + bytes + 8, &next) ||
				((next & IN_USE_BEFORE) && !heap_add(w, at, bytes))) {
			return false;
		}
		at += bytes;
	}
	return true;
}

/** All of a heap or nothing. */
static void walk_heap(struct heap_walker *w, uint64_t at, uint64_t top, uint64_t end) {
	size_t n = w->out->blocks.n;
	if (!walk_chunks(w, (at + 15) & ~15ull, top, end)) {
		w->out->blocks.n = n;
		w->out->n_unsure++;
	}
}

static void walk_main(struct heap_walker *w) {
	const struct heap_arena *a = &w->arenas.items[0];
	if (a->image.top == bin_address(a->at, 0)) {
		return; // nothing was ever allocated
	}
	// Not from the top chunk's header: a thread may be about to write it
	uint64_t begin = find_parameters(w) ? w->parameters.heap_begin : 0;
	uint64_t end = begin + a->image.system_bytes;
	if (begin == 0 || a->image.top < begin || a->image.top >= end || run_end(w, begin) < end) {
		w->out->n_unsure++; // in pieces: something else moved the break
		return;
	}
	walk_heap(w, begin, a->image.top, end);
}

/** Its heaps, newest first, which has the top. Each begins with a heap_info. */
static void walk_other(struct heap_walker *w, const struct heap_arena *a) {
	uint64_t mask = HEAP_MAX_BYTES - 1;
	uint64_t info_bytes = a->at & mask; // the arena follows the first heap's heap_info
	uint64_t heap = a->image.top & ~mask;
	for (unsigned i = 0; heap != 0 && i < HEAPS_MAX; i++) {
		struct {
			uint64_t arena, prev, bytes, writable_bytes;
		} info;
		if (!heap_read(w, heap, &info, sizeof info) || info.arena != a->at ||
				info.bytes > HEAP_MAX_BYTES ||
				(info_bytes != HEAP_INFO && info_bytes != HEAP_INFO_OLD)) {
			w->out->n_unsure++;
			return;
		}
		bool is_first = info.prev == 0;
		uint64_t begin = is_first ? a->at + sizeof a->image : heap + info_bytes;
		walk_heap(w, begin, a->image.top, heap + info.bytes);
		heap = info.prev;
	}
}

// ---- large blocks, each with a mapping of its own

/*
 * A chunk's header is at the beginning of its mapping or, for an aligned block, further on, where
 * it says how far. From outside, neighbouring mappings look like one, and any page could look like
 * such a chunk by chance: they count only if there are as many as malloc itself counts.
 */

/** The size of a chunk at `at`, `lead` bytes into its mapping, ending before `end`; 0: none. */
static uint64_t mapped_chunk(const struct heap_walker *w, uint64_t at, uint64_t lead,
		uint64_t end) {
	uint64_t head[2]; // the lead and the size
	if (end - at < CHUNK_MIN || !heap_read(w, at, head, sizeof head)) {
		return 0;
	}
	uint64_t bytes = head[1] & ~(uint64_t)SIZE_FLAGS;
	bool ok = (head[1] & SIZE_FLAGS) == IS_MAPPED && head[0] == lead && bytes >= CHUNK_MIN &&
			(bytes + lead) % PAGE == 0 && bytes <= end - at;
	return ok ? bytes : 0;
}

/** Add the chunk whose mapping begins at `at`. Returns its bytes, with the lead; 0: none. */
static uint64_t take_at(struct heap_walker *w, uint64_t at, uint64_t end) {
	uint64_t all = mapped_chunk(w, at, 0, end), chunk = at;
	for (unsigned log2 = 5; all && chunk == at && log2 <= ALIGN_MAX_LOG2; log2++) {
		uint64_t align = 1ull << log2;
		uint64_t aligned = ((at + CHUNK_MIN + CHUNK_HEAD + align - 1) & ~(align - 1)) - CHUNK_HEAD;
		uint64_t lead = aligned - at;
		if (lead < all && mapped_chunk(w, aligned, lead, at + all) == all - lead) {
			chunk = aligned;
		}
	}
	if (all) {
		(void)heap_add(w, chunk, all - (chunk - at) - 8);
	}
	return all;
}

/** Add chunks with a mapping of their own, if as many as malloc counts. */
static void add_mapped(struct heap_walker *w) {
	size_t n_wanted = (size_t)w->parameters.n_mapped, n_before = w->out->blocks.n;
	uint64_t at = 0;
	EACH_WHILE(m, w->space->mappings, n_wanted > 0) {
		RAISE_TO(at, m->start); // the last chunk may extend into further mappings
		bool may_be = m->is_writable && m->is_readable && !m->is_shared && m->name[0] == '\0';
		uint64_t end_of_all = may_be ? run_end(w, at) : 0;
		while (may_be && at < m->end && !w->has_failed) {
			uint64_t bytes = take_at(w, at, end_of_all);
			at += bytes ? bytes : PAGE;
		}
	}
	size_t n_found = w->out->blocks.n - n_before;
	w->out->n_unsure += n_found != n_wanted;
	w->out->blocks.n = n_found > n_wanted ? n_before : w->out->blocks.n;
}

// ---- free chunks whose headers say that they are in use

/*
 * The chunks in an arena's fast bins, and those that threads keep to themselves (tcache). A
 * thread's lists are in a block of their own, known by its size, in the heap of its arena. Since
 * 2.32 a link is stored xored with its own address.
 */
enum {
	CACHE_BINS = 64,
	CACHE_CHUNK = 0x290, // of struct tcache_perthread_struct since 2.30
	OLD_CACHE_CHUNK = 0x250,
	LIST_MAX = 1 << 20,
};

static struct extent *find_block(const struct heap_walker *w, uint64_t address) {
	size_t n = w->out->blocks.n;
	struct extent *items = w->out->blocks.items;
	size_t i = sorted_first_of(items, n, sizeof *items, address);
	return i < n && items[i].address == address ? &items[i] : NULL;
}

/** A list of free chunks of one size. */
struct list {
	uint64_t first;       // where its first link is
	uint64_t bytes;       // of each block
	unsigned link_offset; // a link leads to a chunk's beginning, or to its block
	unsigned n;           // their number, give or take one during a change; 0: unknown
};

/** False: not a list of free chunks. `takes`: mark its blocks by an odd size. */
static bool follow(struct heap_walker *w, const struct list *l, bool is_hidden, bool takes) {
	unsigned n = 0;
	for (uint64_t link = l->first; link != 0; n++) {
		uint64_t block = link + l->link_offset;
		struct extent *found = find_block(w, block);
		if (!found || (found->bytes & ~1ull) != l->bytes || n >= LIST_MAX ||
				!heap_read(w, block, &link, sizeof link)) {
			return false;
		}
		found->bytes |= takes;
		link = is_hidden ? link ^ block >> 12 : link;
	}
	return l->n == 0 || (n + 1 >= l->n && n <= l->n + 1);
}

static bool take_list(struct heap_walker *w, const struct list *l) {
	bool is_hidden = follow(w, l, true, false);
	return (is_hidden || follow(w, l, false, false)) && follow(w, l, is_hidden, true);
}

/** Take the lists of a thread's block: each is empty, or as long as its count. */
static bool take_cache(struct heap_walker *w, uint64_t block, bool has_wide_counts) {
	struct {
		uint16_t counts[CACHE_BINS];
		uint64_t lists[CACHE_BINS];
	} cache;
	uint8_t counts[CACHE_BINS];
	unsigned n_odd = 0; // one list may be in the middle of a change
	bool ok = has_wide_counts ? heap_read(w, block, &cache, sizeof cache)
							  : heap_read(w, block, counts, sizeof counts) &&
					heap_read(w, block + sizeof counts, cache.lists, sizeof cache.lists);
	for (unsigned i = 0; ok && i < CACHE_BINS; i++) {
		cache.counts[i] = has_wide_counts ? cache.counts[i] : counts[i];
		n_odd += (cache.counts[i] == 0) != (cache.lists[i] == 0);
		ok = n_odd <= 1 && cache.lists[i] % 16 == 0;
	}
	bool has_any = false;
	EACH_NUMBER(i, (unsigned)CACHE_BINS, ok && cache.counts[i] > 0) {
		struct list list = {cache.lists[i], CHUNK_MIN + 16ull * i - 8, 0, cache.counts[i]};
		has_any |= take_list(w, &list);
	}
	return has_any;
}

/** Remove what is in lists of free chunks. The blocks are in order. */
static void take_out_free(struct heap_walker *w) {
	EACH(a, w->arenas) {
		for (unsigned i = 0; i < N_FASTBINS; i++) {
			struct list list = {a->image.fastbins[i], CHUNK_MIN + 16ull * i - 8, CHUNK_HEAD, 0};
			w->out->n_unsure += !take_list(w, &list);
		}
	}
	EACH(b, w->out->blocks) {
		bool is_wide = b->bytes == CACHE_CHUNK - 8;
		if ((is_wide || b->bytes == OLD_CACHE_CHUNK - 8) && take_cache(w, b->address, is_wide)) {
			b->bytes |= 1; // malloc's own
		}
	}
	vec_keep(&w->out->blocks, 0, b, !(b->bytes & 1));
}

// ---- all of it

static void sort_blocks(struct heap_walk *out) {
	const struct extent *items = out->blocks.items;
	// Heaps are walked one by one, mostly upwards
	if (ANY(i, out->blocks.n, i > 0 && items[i - 1].address >= items[i].address)) {
		vec_sort(&out->blocks, by_number);
	}
}

bool heap_walk(struct heap_walk *out, pid_t pid) {
	*out = (struct heap_walk){0};
	SCOPED(process_space) space = {0};
	struct heap_walker w = {.out = out, .space = &space};
	w.memory = open(PROCESS_PATH(pid, "mem"), O_RDONLY | O_CLOEXEC);
	// Copying to 16 bytes past a page boundary takes twice the time
	w.window = aligned_alloc(PAGE, WINDOW);
	bool is_found = w.memory >= 0 && w.window && process_space_read(&space, pid, NULL) &&
			FIND_IN(m, space.mappings,
					m->is_writable && m->is_readable && !m->is_shared && m->name[0] == '/' &&
							find_main(&w, m));
	if (is_found) {
		follow_arenas(&w);
		walk_main(&w);
		for (size_t i = 1; i < w.arenas.n; i++) {
			walk_other(&w, &w.arenas.items[i]);
		}
		sort_blocks(out);
		take_out_free(&w);
		add_mapped(&w);
		sort_blocks(out);
	}
	out->bytes = SUM(i, out->blocks.n, out->blocks.items[i].bytes);
	free(w.window);
	free(w.data);
	file_close(w.memory);
	vec_finish(&w.arenas);
	return is_found && !w.has_failed;
}

void heap_walk_finish(struct heap_walk *w) {
	vec_finish(&w->blocks);
}
