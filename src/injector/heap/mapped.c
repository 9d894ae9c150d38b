// SPDX-License-Identifier: MIT

/*
 * Large blocks, each with a mapping of its own.
 *
 * A chunk's header is at the beginning of its mapping. If the block had to be aligned, the chunk's
 * header lies further on and says how far. From outside, neighbouring mappings look like one. Any
 * page could look like such a chunk by chance, so the chunks count only if there are as many as
 * malloc itself counts. malloc's parameters are recognized by the beginning of the heap, which is
 * one of them.
 */

#include "injector/heap/walker.h"

enum { PAGE = 4096, ALIGN_MAX_LOG2 = 26 };

uint64_t heap_run_end(const struct heap_walker *w, uint64_t at) {
	uint64_t end = at;
	for (size_t i = 0; i < w->space->mappings.n; i++) {
		const struct mapping *m = &w->space->mappings.items[i];
		bool has_file = m->name[0] != '\0' && strcmp(m->name, "[heap]") != 0;
		if (m->start <= end && end < m->end && m->is_writable && !m->is_shared && !has_file) {
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

bool heap_find_parameters(struct heap_walker *w) {
	struct heap_parameters *out = &w->parameters;
	enum { BEFORE = 36 }; // bytes of them before heap_begin, padding included
	uint8_t *data = malloc(w->data_bytes);
	bool is_found = false;
	bool ok = data && heap_read(w, w->data_at, data, w->data_bytes);
	for (size_t i = 40; ok && !is_found && i + 8 <= w->data_bytes; i += 8) {
		uint64_t begin;
		memcpy(&begin, data + i, sizeof begin);
		is_found = is_begin(w, begin) &&
				(read_parameters(data + i - BEFORE, 4, out) ||
						read_parameters(data + i - BEFORE + 4, 0, out));
	}
	free(data);
	*out = is_found ? *out : (struct heap_parameters){0};
	return is_found;
}

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
	uint64_t run_end = heap_run_end(w, at);
	while (at < end && !w->has_failed) {
		uint64_t bytes = take_at(w, at, run_end);
		at += bytes ? bytes : PAGE;
	}
	return at;
}

void heap_add_mapped(struct heap_walker *w) {
	size_t n_wanted = (size_t)w->parameters.n_mapped, n_before = w->out->blocks.n;
	uint64_t at = 0;
	for (size_t i = 0; n_wanted > 0 && i < w->space->mappings.n; i++) {
		const struct mapping *m = &w->space->mappings.items[i];
		at = at > m->start ? at : m->start;
		if (m->is_writable && m->is_readable && !m->is_shared && m->name[0] == '\0') {
			at = scan_mapping(w, at, m->end);
		}
	}
	size_t n_found = w->out->blocks.n - n_before;
	w->out->n_unsure += n_found != n_wanted;
	w->out->blocks.n = n_found > n_wanted ? n_before : w->out->blocks.n;
}
