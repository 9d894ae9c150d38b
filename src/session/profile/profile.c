// SPDX-License-Identifier: MIT

/*
 * A profile has totals per stack; a recording requires all of its numbers, and that they agree.
 * What the profile does not know becomes the least that agrees (everything live was allocated, and
 * the peak was no smaller than the end), and is named in recording.missing, so that nobody shows
 * it.
 */

#include "session/profile/profile.h"

#include "session/resolve.h"

struct filling {
	struct recording *out;
	const struct profile *p;
	struct arena scratch;
	uint32_t *node_of;
	uint32_t *stack_of_node; // per node of the recording, + 1
};

const uint32_t profile_value_recorded[N_PROFILE_VALUES] = {
		[PROFILE_ALLOC_OBJECTS] = REC_ALLOCATIONS,
		[PROFILE_ALLOC_BYTES] = REC_ALLOCATED_BYTES,
		[PROFILE_TEMPORARY] = REC_TEMPORARY,
		[PROFILE_PEAK_OBJECTS] = REC_PEAK_BLOCKS,
		[PROFILE_PEAK_BYTES] = REC_PEAK_BYTES,
		[PROFILE_LIVE_OBJECTS] = REC_LIVE_BLOCKS,
		[PROFILE_LIVE_BYTES] = REC_LIVE_BYTES,
};

static uint32_t missing_of(const struct profile *p) {
	uint32_t missing = p->duration_ns && !p->has_no_clock ? 0 : REC_TIME;
	for (int v = 0; v < N_PROFILE_VALUES; v++) {
		missing |= profile_knows(p, (enum profile_value)v) ? 0 : profile_value_recorded[v];
	}
	return missing;
}

static void add_sample(struct filling *k, const struct profile_sample *s) {
	struct recording *r = k->out;
	uint32_t node = k->node_of[s->node];
	uint32_t *known = &k->stack_of_node[node];
	if (*known == 0) {
		*known = ++r->stacks.n;
		r->stacks.items[*known - 1].node = node;
	}
	struct rec_stack *t = &r->stacks.items[*known - 1];
	t->allocations += s->values[PROFILE_ALLOC_OBJECTS];
	t->allocated_bytes += s->values[PROFILE_ALLOC_BYTES];
	t->temporary += s->values[PROFILE_TEMPORARY];
	t->peak_blocks += s->values[PROFILE_PEAK_OBJECTS];
	t->peak_bytes += s->values[PROFILE_PEAK_BYTES];
	t->live_blocks += s->values[PROFILE_LIVE_OBJECTS];
	t->live_bytes += s->values[PROFILE_LIVE_BYTES];
}

static uint64_t at_least(uint64_t v, uint64_t least) {
	return v < least ? least : v;
}

/** Make a stack's numbers agree. Bytes are in one block at least. */
static void complete_stack(const struct profile *p, struct rec_stack *t) {
	if (!profile_knows(p, PROFILE_PEAK_BYTES)) {
		t->peak_bytes = t->live_bytes;
	}
	if (!profile_knows(p, PROFILE_PEAK_OBJECTS)) {
		t->peak_blocks = t->live_blocks;
	}
	t->live_blocks = at_least(t->live_blocks, t->live_bytes > 0);
	t->peak_blocks = at_least(t->peak_blocks, t->peak_bytes > 0);
	t->allocated_bytes = at_least(at_least(t->allocated_bytes, t->peak_bytes), t->live_bytes);
	t->allocations = at_least(t->allocations, t->allocated_bytes > 0);
	t->allocations = at_least(at_least(t->allocations, t->peak_blocks), t->live_blocks);
	uint64_t freed = t->allocations - t->live_blocks;
	t->temporary = t->temporary < freed ? t->temporary : freed;
	uint64_t mean = t->allocations ? t->allocated_bytes / t->allocations : 0;
	t->usual_size = mean < UINT32_MAX ? (uint32_t)mean : UINT32_MAX;
}

static void add_to_summary(struct rec_summary *s, const struct rec_stack *t) {
	s->allocations += t->allocations;
	s->allocated_bytes += t->allocated_bytes;
	s->temporary += t->temporary;
	s->peak_blocks += t->peak_blocks;
	s->peak_bytes += t->peak_bytes;
	s->live_blocks += t->live_blocks;
	s->live_bytes += t->live_bytes;
}

static bool fill_stacks(struct filling *k) {
	struct recording *r = k->out;
	r->stacks.items = arena_new(&r->arena, struct rec_stack, k->p->samples.n + 1ul);
	k->stack_of_node = arena_new(&k->scratch, uint32_t, r->nodes.n);
	if (!r->stacks.items || !k->stack_of_node) {
		return false;
	}
	for (uint32_t i = 0; i < k->p->samples.n; i++) {
		if (!k->p->samples.items[i].is_base) {
			add_sample(k, &k->p->samples.items[i]);
		}
	}
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		complete_stack(k->p, &r->stacks.items[i]);
		add_to_summary(&r->summary, &r->stacks.items[i]);
	}
	r->summary.frees = r->summary.allocations - r->summary.live_blocks;
	r->summary.peak_time_ns = k->p->peak_time_ns;
	return true;
}

/** Snapshots become edges; one that claims more than the peak was taken a moment later than it. */
static bool fill_edges(struct filling *k) {
	struct recording *r = k->out;
	const struct profile *p = k->p;
	uint32_t n = p->moments.n < REC_NEVER ? p->moments.n : REC_NEVER - 1;
	r->edges.items = arena_new(&r->arena, struct rec_edge, n + 1ul);
	if (!r->edges.items) {
		return false;
	}
	r->edges.n = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct profile_moment *m = &p->moments.items[i];
		uint64_t most = r->summary.peak_bytes;
		r->edges.items[i] = (struct rec_edge){
				.time_ns = m->time_ns,
				.end_ns = i + 1 < n ? p->moments.items[i + 1].time_ns
									: at_least(p->duration_ns, m->time_ns),
				.bytes = m->bytes < most ? m->bytes : most,
				.blocks = m->blocks,
		};
	}
	return true;
}

/** The profile's strings, and the arguments behind the program's name. */
static bool fill_strings(struct filling *k) {
	struct recording *r = k->out;
	const struct profile *p = k->p;
	r->strings.items = arena_new(&r->arena, struct slice, p->strings.n + 1ul);
	r->threads.items = arena_new(&r->arena, struct rec_thread, 1);
	if (!r->strings.items || !r->threads.items) {
		return false;
	}
	memcpy(r->strings.items, p->strings.items, p->strings.n * sizeof *p->strings.items);
	r->strings.n = p->strings.n;
	r->threads.n = 1;
	r->meta.exe = p->program;
	struct slice program = profile_text(p, p->program), command = profile_text(p, p->command);
	if (command.size > program.size + 1 && memcmp(command.data, program.data, program.size) == 0) {
		r->meta.argv_first = r->strings.n;
		r->meta.n_argv = 1;
		r->strings.items[r->strings.n++] = slice_of(command.data + program.size + 1,
				command.size - program.size - 1);
	}
	return true;
}

bool recording_of_profile(struct recording *out, const struct profile *p, struct err *err) {
	struct filling k = {.out = out, .p = p};
	out->missing = missing_of(p);
	out->meta.pid = p->pid;
	out->meta.wall_start_ns = p->wall_start_ns;
	out->meta.duration_ns = p->duration_ns;
	out->meta.source = REC_IMPORTED;
	out->meta.is_complete = 1;
	k.node_of = arena_new(&k.scratch, uint32_t, p->nodes.n);
	bool ok = k.node_of && fill_strings(&k) &&
			recording_code_of_profile(out, p, k.node_of, &k.scratch) && fill_stacks(&k) &&
			fill_edges(&k);
	arena_finish(&k.scratch);
	return ok || err_memory(err);
}

// ---- files

enum { MOST_BYTES = 1000000000 }; // of a file, unpacked: it is read whole

static bool read_whole(struct import *import, struct buffer *out, struct err *err) {
	struct slice part;
	do {
		if (!unpack_next(import->in, &part, err)) {
			return false;
		}
		if (part.size > MOST_BYTES - out->size) {
			return err_set(err, ERR_LIMIT,
					"larger than 1 GB when decompressed, the limit for this format");
		}
		buffer_slice(out, part);
	} while (part.size && !out->failed);
	return !out->failed || err_memory(err);
}

bool import_profile(struct import *import, decode_fn *decode, struct err *err) {
	struct buffer bytes = {0};
	struct profile p;
	bool ok = read_whole(import, &bytes, err) &&
			decode(&p, buffer_view(&bytes), &import->out->arena, err);
	buffer_finish(&bytes);
	ok = ok && recording_of_profile(import->out, &p, err);
	if (ok && unpack_is_torn(import->in)) {
		import->out->meta.is_complete = 0;
		import->out->quality.recording_stopped_early = 1;
	}
	return ok && (resolve_names(import->out, import->options->symbols, err) || err_memory(err));
}
