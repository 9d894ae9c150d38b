// SPDX-License-Identifier: MIT

/*
 * Nodes and locations: a recording's location is one address with all that was inlined there, so
 * inlined nodes and the node they are inlined into become one node. It ends where a sample stands,
 * or where something is called that is not inlined; only ends become nodes.
 *
 *   profile    main <- spike <- make_row (inlined) <- operator new
 *   recording  main <- [make_row, spike] <- operator new
 */

#include "base/text.h"
#include "elf/image.h"
#include "session/profile/profile.h"
#include "sys/reader.h"

#include <elf.h>

struct making {
	struct recording *out;
	const struct profile *p;
	struct arena *scratch;
	struct profile_places places;
	uint8_t *is_end;
};

enum {
	LONGEST_PLACE = 1000
}; // frames inlined at one address; further ones are a place of their own

static bool find_places(struct making *k) {
	const struct profile *p = k->p;
	k->is_end = arena_new(k->scratch, uint8_t, p->nodes.n);
	if (!k->is_end || !profile_find_places(p, LONGEST_PLACE, k->scratch, &k->places)) {
		return false;
	}
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		bool is_inlined = k->places.items[k->places.of_node[i]].outer != 0;
		k->is_end[p->nodes.items[i].parent] |= !is_inlined;
	}
	for (uint32_t i = 0; i < p->samples.n; i++) {
		k->is_end[p->samples.items[i].node] = 1;
	}
	return true;
}

static bool make_locations(struct making *k) {
	struct recording *r = k->out;
	size_t n_frames = 0;
	for (uint32_t i = 1; i < k->places.n; i++) {
		n_frames += k->places.items[i].n_frames;
	}
	r->locations.items = arena_new(&r->arena, struct rec_location, k->places.n);
	r->frames.items = n_frames < UINT32_MAX ? arena_new(&r->arena, struct rec_frame, n_frames + 1)
											: NULL;
	if (!r->locations.items || !r->frames.items) {
		return false;
	}
	r->locations.n = k->places.n;
	for (uint32_t i = 1; i < k->places.n; i++) {
		const struct profile_frame *first = &k->p->frames.items[k->places.items[i].frame];
		bool has_name = first->function || k->places.items[i].n_frames > 1;
		r->locations.items[i] = (struct rec_location){
				.pc = first->address,
				.module = first->mapping || !has_name ? first->mapping : k->p->mappings.n,
				.first_frame = r->frames.n,
				.n_frames = has_name ? (uint16_t)k->places.items[i].n_frames : 0,
				.is_exact = 1,
		};
		for (uint32_t at = i; at && has_name; at = k->places.items[at].outer) {
			const struct profile_frame *f = &k->p->frames.items[k->places.items[at].frame];
			r->frames.items[r->frames.n++] = (struct rec_frame){f->function, f->symbol, f->file,
					f->line};
		}
	}
	return true;
}

static bool make_nodes(struct making *k, uint32_t *node_of) {
	struct recording *r = k->out;
	r->nodes.items = arena_new(&r->arena, struct rec_node, k->p->nodes.n);
	if (!r->nodes.items) {
		return false;
	}
	r->nodes.n = 1;
	for (uint32_t i = 1; i < k->p->nodes.n; i++) {
		if (k->is_end[i]) {
			node_of[i] = r->nodes.n;
			r->nodes.items[r->nodes.n++] = (struct rec_node){node_of[profile_caller_of(k->p,
																	 &k->places, i)],
					k->places.of_node[i]};
		}
	}
	return true;
}

/** Where a mapping's file was loaded, if these are its first bytes. */
static bool bias_of_elf(const struct profile_mapping *m, struct slice head, uint64_t *bias) {
	struct elf_image image;
	struct elf_segment segment;
	if (!elf_image_init(&image, head, NULL)) {
		return false;
	}
	for (uint32_t i = 0; elf_segment_at(&image, i, &segment); i++) {
		if (segment.type == PT_LOAD && segment.offset <= m->file_offset &&
				m->file_offset - segment.offset < segment.file_bytes) {
			*bias = m->start - (m->file_offset - segment.offset + segment.address);
			return true;
		}
	}
	return false;
}

enum { ELF_HEAD_BYTES = 4096 }; // the program headers are right behind the file's header

/** Its own program headers know it; without them addresses are taken for those in the file. */
static uint64_t bias_of(const struct profile *p, const struct profile_mapping *m,
		struct arena *scratch) {
	uint64_t bias = m->start - m->file_offset;
	const char *path = arena_text(scratch, profile_text(p, m->path));
	struct file_reader file = {.fd = -1};
	uint8_t head[ELF_HEAD_BYTES];
	size_t got;
	if (path && *path == '/' && m->start && file_reader_open(&file, path, NULL) &&
			file_reader_read(&file, 0, head, sizeof head, &got, NULL)) {
		(void)bias_of_elf(m, slice_of(head, got), &bias);
	}
	file_reader_close(&file);
	return bias;
}

static void put_build_id(struct rec_module *m, struct slice text) {
	size_t most = sizeof m->build_id;
	for (size_t i = 0; i + 1 < text.size && i / 2 < most; i += 2) {
		int high = hex_digit(text.data[i]), low = hex_digit(text.data[i + 1]);
		if (high < 0 || low < 0) {
			m->build_id_bytes = 0;
			return;
		}
		m->build_id[m->build_id_bytes++] = (uint8_t)(high << 4 | low);
	}
}

/** The mappings, and behind them the program itself: of frames that have a name and no mapping. */
static bool make_modules(struct making *k) {
	struct recording *r = k->out;
	r->modules.items = arena_new(&r->arena, struct rec_module, k->p->mappings.n + 1ul);
	if (!r->modules.items) {
		return false;
	}
	r->modules.n = k->p->mappings.n + 1;
	r->modules.items[k->p->mappings.n] = (struct rec_module){.path = k->p->program,
			.image = 1,
			.has_symbols = 1,
			.has_lines = 1};
	for (uint32_t i = 1; i < k->p->mappings.n; i++) {
		const struct profile_mapping *m = &k->p->mappings.items[i];
		struct rec_module *out = &r->modules.items[i];
		*out = (struct rec_module){.start = m->start,
				.end = m->end < m->start ? m->start : m->end,
				.path = m->path,
				.image = 1,
				.has_symbols = m->has_functions,
				.has_lines = m->has_lines};
		out->bias = bias_of(k->p, m, k->scratch);
		put_build_id(out, profile_text(k->p, m->build_id));
	}
	return true;
}

bool recording_code_of_profile(struct recording *out, const struct profile *p, uint32_t *node_of,
		struct arena *scratch) {
	struct making k = {.out = out, .p = p, .scratch = scratch};
	bool ok = find_places(&k) && make_modules(&k) && make_locations(&k) && make_nodes(&k, node_of);
	return ok;
}
