// SPDX-License-Identifier: MIT
/*
 * A profile has totals per stack; a recording requires all numbers, and that they agree. What the
 * profile does not know becomes the least that agrees (all that is live was allocated, the peak was
 * no smaller than the end), and recording.missing names it, so that nobody shows it.
 *
 * A recording's location is one address with all that was inlined there, so inlined nodes and the
 * node they are inlined into become one. It ends at a sample, or at a call that is not inlined;
 * only ends become nodes.
 *
 *   profile    main <- spike <- make_row (inlined) <- operator new
 *   recording  main <- [make_row, spike] <- operator new
 */
#include "elf/image.h"
#include "session/import/importer.h"
#include "sys/file.h"

struct filling {
	struct recording *out;
	const struct profile *p;
	struct arena scratch;
	struct profile_places places;
	uint8_t *is_end;
	uint32_t *node_of;       // per node of the profile: the recording's
	uint32_t *stack_of_node; // per node of the recording, + 1
};

// ---- nodes and locations

// Frames inlined at one address; further ones are a place of their own
enum { LONGEST_PLACE = 1000 };

static void find_places(struct filling *k) {
	const struct profile *p = k->p;
	k->is_end = arena_new(&k->scratch, uint8_t, p->nodes.n);
	profile_find_places(p, LONGEST_PLACE, &k->scratch, &k->places);
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		bool is_inlined = k->places.tree.nodes[k->places.tree.of_node[i]].parent != 0;
		k->is_end[p->nodes.items[i].parent] |= !is_inlined;
	}
	for (uint32_t i = 0; i < p->samples.n; i++) {
		k->is_end[p->samples.items[i].node] = 1;
	}
}

static bool make_locations(struct filling *k) {
	struct recording *r = k->out;
	size_t n_frames = SUM(i, k->places.tree.n, k->places.n_frames[i]);
	if (n_frames >= UINT32_MAX || !RECORDING_ROOM(r, locations, k->places.tree.n) ||
			!RECORDING_ROOM(r, frames, n_frames)) {
		return false;
	}
	r->frames.n = 0;
	for (uint32_t i = 1; i < k->places.tree.n; i++) {
		const struct profile_frame *first = &k->p->frames.items[k->places.tree.nodes[i].frame];
		bool has_name = first->function || k->places.n_frames[i] > 1;
		r->locations.items[i] = (struct rec_location){
				.pc = first->address,
				.module = first->mapping || !has_name ? first->mapping : k->p->mappings.n,
				.first_frame = r->frames.n,
				.n_frames = has_name ? (uint16_t)k->places.n_frames[i] : 0,
				.is_exact = 1,
		};
		for (uint32_t at = i; at && has_name; at = k->places.tree.nodes[at].parent) {
			const struct profile_frame *f = &k->p->frames.items[k->places.tree.nodes[at].frame];
			r->frames.items[r->frames.n++] = (struct rec_frame){.function = f->function,
					.symbol = f->symbol,
					.file = f->file,
					.line = f->line};
		}
	}
	return true;
}

static bool make_nodes(struct filling *k) {
	struct recording *r = k->out;
	bool ok = RECORDING_ROOM(r, nodes, k->p->nodes.n);
	r->nodes.n = 1;
	for (uint32_t i = 1; ok && i < k->p->nodes.n; i++) {
		if (k->is_end[i]) {
			k->node_of[i] = r->nodes.n;
			r->nodes.items[r->nodes.n++] = (struct rec_node){k->node_of[profile_caller_of(k->p,
																	 &k->places, i)],
					k->places.tree.of_node[i]};
		}
	}
	return ok;
}

/** The bias of a mapping's file, if these are its first bytes. */
static bool bias_of_elf(const struct profile_mapping *m, struct slice head, uint64_t *bias) {
	struct elf_image image;
	struct elf_segment segment;
	if (!elf_image_init(&image, head)) {
		return false;
	}
	uint32_t i = 0;
	bool is_there = SOME(elf_segment_next(&image, PT_LOAD, &i, &segment),
			segment.offset <= m->file_offset &&
					m->file_offset - segment.offset < segment.file_bytes);
	*bias = is_there ? m->start - (m->file_offset - segment.offset + segment.address) : *bias;
	return is_there;
}

enum { ELF_HEAD_BYTES = 4096 }; // the program headers follow the file's header directly

/** From the file's program headers; without the file, addresses are taken for those in it. */
static uint64_t bias_of(const struct profile *p, const struct profile_mapping *m,
		struct arena *scratch) {
	uint64_t bias = m->start - m->file_offset;
	const char *path = arena_text(scratch, profile_text(p, m->path));
	bool may_be = *path == '/' && m->start;
	uint8_t head[ELF_HEAD_BYTES];
	uint64_t bytes;
	size_t got;
	CLOSED int fd = may_be ? file_open_regular(path, &bytes, NULL) : -1;
	if (fd >= 0 && file_read_at(fd, 0, head, sizeof head, &got, NULL)) {
		(void)bias_of_elf(m, slice_of(head, got), &bias);
	}
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

/** The mappings, and last the program itself: for frames with a name and no mapping. */
static bool make_modules(struct filling *k) {
	struct recording *r = k->out;
	if (!RECORDING_ROOM(r, modules, k->p->mappings.n + 1ul)) {
		return false;
	}
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
		out->bias = bias_of(k->p, m, &k->scratch);
		put_build_id(out, profile_text(k->p, m->build_id));
	}
	return true;
}

// ---- totals

/** A recording's bits for missing values are a profile's for known ones: here and in export/. */
#define HAS_SAME_BIT(id, name, field, missing) \
	_Static_assert(REC_##missing == 1 << PROFILE_##id, #id);
PROFILE_VALUES(HAS_SAME_BIT)

static void add_sample(struct filling *k, const struct profile_sample *s) {
	struct recording *r = k->out;
	uint32_t node = k->node_of[s->node];
	uint32_t *known = &k->stack_of_node[node];
	if (*known == 0) {
		*known = ++r->stacks.n;
		r->stacks.items[*known - 1].node = node;
	}
	struct rec_stack *t = &r->stacks.items[*known - 1];
#define ADD(id, name, field, ...) t->field += s->values[PROFILE_##id];
	PROFILE_VALUES(ADD)
}

/** Make a stack's numbers agree: bytes are in at least one block. */
static void complete_stack(const struct profile *p, struct rec_stack *t) {
	t->peak_bytes = profile_knows(p, PROFILE_PEAK_BYTES) ? t->peak_bytes : t->live_bytes;
	t->peak_blocks = profile_knows(p, PROFILE_PEAK_OBJECTS) ? t->peak_blocks : t->live_blocks;
	RAISE_TO(t->live_blocks, t->live_bytes > 0);
	RAISE_TO(t->peak_blocks, t->peak_bytes > 0);
	RAISE_TO(t->allocated_bytes, t->peak_bytes);
	RAISE_TO(t->allocated_bytes, t->live_bytes);
	RAISE_TO(t->allocations, t->allocated_bytes > 0);
	RAISE_TO(t->allocations, t->peak_blocks);
	RAISE_TO(t->allocations, t->live_blocks);
	LOWER_TO(t->temporary, t->allocations - t->live_blocks);
	uint64_t mean = t->allocations ? t->allocated_bytes / t->allocations : 0;
	t->usual_size = mean < UINT32_MAX ? (uint32_t)mean : UINT32_MAX;
}

static bool fill_stacks(struct filling *k) {
	struct recording *r = k->out;
	r->stacks.items = arena_new(&r->arena, struct rec_stack, k->p->samples.n + 1ul);
	k->stack_of_node = arena_new(&k->scratch, uint32_t, r->nodes.n);
	if (!r->stacks.items) {
		return false;
	}
	EACH_THAT(s, k->p->samples, !s->is_base) {
		add_sample(k, s);
	}
	EACH(t, r->stacks) {
		complete_stack(k->p, t);
		ADD_FIELDS(&r->summary, t, allocations, allocated_bytes, temporary, peak_blocks, peak_bytes,
				live_blocks, live_bytes);
	}
	r->summary.frees = r->summary.allocations - r->summary.live_blocks;
	r->summary.peak_time_ns = k->p->peak_time_ns;
	return true;
}

/** Snapshots become edges, capped at the peak, which is not exact if one claims more. */
static bool fill_edges(struct filling *k) {
	struct recording *r = k->out;
	const struct profile *p = k->p;
	uint32_t n = p->moments.n < REC_NEVER ? p->moments.n : REC_NEVER - 1;
	uint64_t highest = 0;
	bool ok = RECORDING_ROOM(r, edges, n);
	for (uint32_t i = 0; ok && i < n; i++) {
		const struct profile_moment *m = &p->moments.items[i];
		uint64_t most = r->summary.peak_bytes;
		r->edges.items[i] = (struct rec_edge){
				.time_ns = m->time_ns,
				.end_ns = i + 1 < n ? p->moments.items[i + 1].time_ns : p->duration_ns,
				.bytes = m->bytes < most ? m->bytes : most,
				.blocks = m->blocks,
		};
		RAISE_TO(r->edges.items[i].end_ns, m->time_ns); // the last one's
		RAISE_TO(highest, m->bytes);
	}
	bool is_exact = highest <= r->summary.peak_bytes || r->summary.peak_bytes == 0;
	r->summary.peak_low_bytes = is_exact ? 0 : r->summary.peak_bytes;
	r->summary.peak_high_bytes = is_exact ? 0 : highest;
	return ok;
}

/** The profile's strings, and the arguments behind the program's name. */
static bool fill_strings(struct filling *k) {
	struct recording *r = k->out;
	const struct profile *p = k->p;
	if (!RECORDING_ROOM(r, strings, p->strings.n + 1ul) || !RECORDING_ROOM(r, threads, 1)) {
		return false;
	}
	memcpy(r->strings.items, p->strings.items, p->strings.n * sizeof *p->strings.items);
	r->strings.n = p->strings.n;
	r->meta.exe = p->program;
	struct slice program = profile_text(p, p->program), command = profile_text(p, p->command);
	if (command.size > program.size + 1 && begins_with(command, program)) {
		r->meta.argv_first = r->strings.n;
		r->meta.n_argv = 1;
		r->strings.items[r->strings.n++] = slice_of(command.data + program.size + 1,
				command.size - program.size - 1);
	}
	return true;
}

bool recording_of_profile(struct recording *out, const struct profile *p, struct err *err) {
	struct filling k = {.out = out, .p = p};
	out->missing = (PROFILE_KNOWS_ALL & ~p->known) |
			(p->duration_ns && !p->time_unit ? 0 : REC_TIME);
	COPY_FIELDS(&out->meta, p, pid, wall_start_ns, duration_ns, time_unit);
	out->meta.source = REC_IMPORTED;
	out->meta.is_complete = 1;
	k.node_of = arena_new(&k.scratch, uint32_t, p->nodes.n);
	find_places(&k);
	bool ok = fill_strings(&k) && make_modules(&k) && make_locations(&k) && make_nodes(&k) &&
			fill_stacks(&k) && fill_edges(&k);
	arena_finish(&k.scratch);
	return ok || err_memory(err);
}

// ---- files

enum { MOST_BYTES = 1000000000 }; // unpacked: a file is read whole

static bool read_whole(struct import *import, struct buffer *out, struct err *err) {
	struct slice part;
	do {
		if (!unpack_next(import->in, &part, err)) {
			return false;
		}
		if (part.size > MOST_BYTES - out->size) {
			return err_limit(err, "larger than 1 GB when decompressed, the limit for this format");
		}
		buffer_slice(out, part);
	} while (part.size);
	return true;
}

bool import_profile(struct import *import, profile_decoder *decode, struct err *err) {
	SCOPED(buffer) bytes = {0};
	struct profile p;
	bool ok = read_whole(import, &bytes, err) &&
			profile_decode(decode, &p, buffer_view(&bytes), &import->out->arena, err);
	ok = ok && recording_of_profile(import->out, &p, err);
	if (ok && unpack_is_torn(import->in)) {
		import->out->meta.is_complete = 0;
		import->out->quality.recording_stopped_early = 1;
	}
	if (ok) {
		resolve_names(import->out, import->options->symbols);
	}
	return ok;
}
