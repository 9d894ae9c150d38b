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
 */
#include "injector/heap/walker.h"
#include "sys/sys.h"

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
};

static const uint64_t HEAP_MAX_BYTES = 64ull << 20;

// ---- memory

static bool move_window(struct heap_reader *r, uint64_t at) {
	// Not by process_vm_readv: it pins pages, for which the kernel gives the copy pages of its own
	ssize_t n = pread(r->memory, r->window, WINDOW, (off_t)at);
	r->at = at;
	r->n = n > 0 ? (size_t)n : 0;
	return r->n >= sizeof(uint64_t);
}

/** Eight bytes, by the window. False: not readable. */
static inline bool read_word(struct heap_reader *r, uint64_t at, uint64_t *out) {
	uint64_t into = at - r->at; // huge if it lies before the window
	if (into > r->n || r->n - into < sizeof *out) {
		if (!move_window(r, at)) {
			return false;
		}
		into = 0;
	}
	memcpy(out, r->window + into, sizeof *out);
	return true;
}

// ---- arenas

static uint64_t bin_address(uint64_t arena, unsigned bin) {
	return arena + offsetof(struct arena_image, bins) + 16ull * bin - CHUNK_HEAD;
}

/** The next of the ring: `main` itself, or one that lies where a heap begins. */
static bool is_next(uint64_t next, uint64_t main) {
	uint64_t into = next & (HEAP_MAX_BYTES - 1);
	return next == main || into == HEAP_INFO || into == HEAP_INFO_OLD;
}

/** Empty bins alone do not tell where the arena begins: each points to itself at any distance. */
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
	return n_empty >= EMPTY_BINS_MIN && a->mutex >= 0 && a->mutex <= 2 && a->top % 16 == 0 &&
			is_next(a->next, main) && a->system_bytes <= a->max_system_bytes &&
			(a->top > a->system_bytes) && is_unused == (a->system_bytes == 0);
}

/** The library's writable data, or that of a static program. */
static bool find_main_in(struct heap_walker *w, const struct smaps_area *m) {
	uint64_t bytes = m->end - m->start;
	FREED uint8_t *data = bytes <= DATA_MAX ? malloc(bytes) : NULL;
	bool is_found = false;
	ssize_t got = data ? pread(w->reader.memory, data, bytes, (off_t)m->start) : -1;
	for (size_t i = 0; !is_found && got > 0 && i + sizeof(struct arena_image) <= (size_t)got;
			i += 16) {
		// The bin of the largest chunks first: it is the rarest to have any
		uint64_t last;
		memcpy(&last, data + i + offsetof(struct arena_image, bins) + 16 * (N_BINS - 1),
				sizeof last);
		struct heap_arena arena = {.at = m->start + i};
		if (last != bin_address(arena.at, N_BINS - 1)) {
			continue;
		}
		memcpy(&arena.image, data + i, sizeof arena.image);
		if (looks_like_arena(&arena.image, arena.at, arena.at) && vec_add(&w->arenas, arena)) {
			w->data_at = m->start;
			w->data_bytes = (uint64_t)got;
			is_found = true;
		}
	}
	return is_found;
}

static bool find_main(struct heap_walker *w) {
	return FIND_IN(m, w->space->mappings,
				   m->is_writable && m->is_readable && !m->is_shared && m->name[0] == '/' &&
						   find_main_in(w, m)) != NULL;
}

/** The ring of arenas, from main's. A broken one ends there, and is told. */
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

/** How far writable memory without a file extends from there; [heap] whatever its pages allow. */
static uint64_t run_end(const struct heap_walker *w, uint64_t at) {
	uint64_t end = at;
	EACH(m, w->space->mappings) {
		bool is_heap = strcmp(m->name, "[heap]") == 0;
		bool is_plain = m->name[0] == '\0' && m->is_writable && !m->is_shared;
		if (m->start <= end && end < m->end && (is_plain || is_heap)) {
			end = m->end;
		}
	}
	return end;
}

/** Since 2.35 a fifth number stands before the four, and so there is a padding of 4 bytes. */
static bool read_parameters(const uint8_t *at, unsigned padding, struct heap_parameters *out) {
	memcpy(out, at, 16);
	memcpy(&out->mapped_bytes, at + 16 + padding, 24);
	return out->n_mapped >= 0 && out->n_mapped <= out->top_mapped &&
			out->mapped_bytes % PAGE == 0 && out->mapped_bytes <= out->top_mapped_bytes &&
			(out->is_fixed & ~1) == 0;
}

/** The heap begins at the break, or a little behind it in static programs. */
static bool is_begin(const struct heap_walker *w, uint64_t address) {
	return address >= w->space->brk_start && address < w->space->brk_start + 64 * PAGE &&
			address <= w->arenas.items[0].image.top;
}

/**
 * malloc's parameters, in the data in which main's arena was found. They are recognized by the
 * beginning of the heap, which is one of them. False: they are not there.
 */
static bool find_parameters(struct heap_walker *w) {
	struct heap_parameters *out = &w->parameters;
	enum { BEFORE = 36 }; // bytes of them before heap_begin, padding included
	FREED uint8_t *data = malloc(w->data_bytes);
	bool is_found = false;
	bool ok = data && heap_read(w, w->data_at, data, w->data_bytes);
	for (size_t i = 40; ok && !is_found && i + 8 <= w->data_bytes; i += 8) {
		uint64_t begin;
		memcpy(&begin, data + i, sizeof begin);
		is_found = is_begin(w, begin) &&
				(read_parameters(data + i - BEFORE, 4, out) ||
						read_parameters(data + i - BEFORE + 4, 0, out));
	}
	*out = is_found ? *out : (struct heap_parameters){0};
	return is_found;
}

// ---- heaps

/**
 * Chunks from `at` on, to the top chunk or, where a heap ended before the next began, to the two
 * chunks that glibc ends it with: one of 16 bytes and one of none.
 */
static bool walk_chunks(struct heap_walker *w, uint64_t at, uint64_t top, uint64_t end) {
	uint64_t size, next = 0;
	bool is_other = w->arenas.n > 0 && top != w->arenas.items[0].image.top;
	if (at != top && !read_word(&w->reader, at + 8, &next)) {
		return false;
	}
	while (at != top) {
		if (at > end - CHUNK_HEAD) {
			return false;
		}
		size = next;
		uint64_t bytes = size & ~(uint64_t)SIZE_FLAGS;
		if (bytes == CHUNK_HEAD && is_other && read_word(&w->reader, at + CHUNK_HEAD + 8, &next) &&
				(next & ~(uint64_t)SIZE_FLAGS) == 0) {
			return end - at <= 2 * CHUNK_MIN;
		}
		if (bytes < CHUNK_MIN || bytes % 16 != 0 || (size & IS_MAPPED) || bytes > end - at) {
			return false;
		}
		if (at < top && at + bytes > top) {
			return at + bytes + CHUNK_MIN > end; // the top a moment ago: a block is being cut off
		}
		if (!read_word(&w->reader, at + bytes + 8, &next)) {
			return false;
		}
		if ((next & IN_USE_BEFORE) && !heap_add(w, at, bytes)) {
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
	// Not from the top chunk's own header: a thread may be about to write it
	uint64_t begin = find_parameters(w) ? w->parameters.heap_begin : 0;
	uint64_t end = begin + a->image.system_bytes;
	if (begin == 0 || a->image.top < begin || a->image.top >= end || run_end(w, begin) < end) {
		w->out->n_unsure++; // in pieces: somebody else moved the break
		return;
	}
	walk_heap(w, begin, a->image.top, end);
}

/** Its heaps, the newest first, which has the top. Each begins with what heap_info says. */
static void walk_other(struct heap_walker *w, const struct heap_arena *a) {
	uint64_t mask = HEAP_MAX_BYTES - 1;
	uint64_t info_bytes = a->at & mask; // the arena lies behind the first heap's
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
 * A chunk's header is at the beginning of its mapping. If the block had to be aligned, the chunk's
 * header lies further on and says how far. From outside, neighbouring mappings look like one. Any
 * page could look like such a chunk by chance, so the chunks count only if there are as many as
 * malloc itself counts.
 */

/** The size of a chunk at `at`, `lead` bytes into its mapping, that ends before `end`; 0: none. */
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

/** Add the chunk whose mapping begins at `at`. Returns its bytes, lead included; 0: none. */
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

/** Returns where it ended: behind the last chunk, which may reach into further mappings. */
static uint64_t scan_mapping(struct heap_walker *w, uint64_t at, uint64_t end) {
	uint64_t end_of_all = run_end(w, at);
	while (at < end && !w->has_failed) {
		uint64_t bytes = take_at(w, at, end_of_all);
		at += bytes ? bytes : PAGE;
	}
	return at;
}

/** Add chunks with a mapping of their own, if they are as many as malloc counts. */
static void add_mapped(struct heap_walker *w) {
	size_t n_wanted = (size_t)w->parameters.n_mapped, n_before = w->out->blocks.n;
	uint64_t at = 0;
	for (size_t i = 0; n_wanted > 0 && i < w->space->mappings.n; i++) {
		const struct smaps_area *m = &w->space->mappings.items[i];
		at = at > m->start ? at : m->start;
		if (m->is_writable && m->is_readable && !m->is_shared && m->name[0] == '\0') {
			at = scan_mapping(w, at, m->end);
		}
	}
	size_t n_found = w->out->blocks.n - n_before;
	w->out->n_unsure += n_found != n_wanted;
	w->out->blocks.n = n_found > n_wanted ? n_before : w->out->blocks.n;
}

// ---- all of it

static void sort_blocks(struct heap_walk *out) {
	size_t i = 1;
	while (i < out->blocks.n && out->blocks.items[i - 1].address < out->blocks.items[i].address) {
		i++;
	}
	if (i < out->blocks.n) { // heaps are walked one after the other, most often upwards
		qsort(out->blocks.items, out->blocks.n, sizeof *out->blocks.items, by_number);
	}
}

bool heap_walk(struct heap_walk *out, const struct process_space *space, pid_t pid) {
	*out = (struct heap_walk){0};
	struct heap_walker w = {.out = out, .space = space};
	w.reader.memory = open(PROCESS_PATH(pid, "mem"), O_RDONLY | O_CLOEXEC);
	// Copying to 16 bytes off a page takes twice the time
	w.reader.window = aligned_alloc(PAGE, WINDOW);
	bool is_found = w.reader.memory >= 0 && w.reader.window && find_main(&w);
	if (is_found) {
		follow_arenas(&w);
		walk_main(&w);
		for (size_t i = 1; i < w.arenas.n; i++) {
			walk_other(&w, &w.arenas.items[i]);
		}
		sort_blocks(out);
		heap_take_out_free(&w);
		add_mapped(&w);
		sort_blocks(out);
	}
	out->bytes = SUM(i, out->blocks.n, out->blocks.items[i].bytes);
	free(w.reader.window);
	file_close(w.reader.memory);
	vec_finish(&w.arenas);
	return is_found && !w.has_failed;
}

void heap_walk_finish(struct heap_walk *w) {
	vec_finish(&w->blocks);
}
