// SPDX-License-Identifier: MIT
/*
 * Makes a profile from the engine's answers. Nodes come in the order of the recording, callers
 * first: each adds the frames of its location, outermost first, to the profile's node of its
 * caller. Frames hidden by the lens are skipped; under a focus the tree begins with it. Folding is
 * for display: all other frames are written. A sample is a stack that costs anything under the
 * lens; peak and never freed bytes take two queries.
 */
#include "engine/diff.h"
#include "engine/memory.h"
#include "export/export.h"

struct making {
	struct profile_maker *m;
	const struct recording *r;
	const struct names *names;
	const struct lens *lens;
	bool is_base;
	bool is_plain; // only functions
	struct arena scratch;
	uint32_t *mapping_of; // per module
	uint32_t *frame_ids;  // per frame: + 1; 0: not made yet
	uint32_t *node_of;    // per node
	struct lens_match match;
	uint8_t *is_focused; // per node: it or a caller of it is in focus
	uint32_t *sample_of; // per stack, + 1
};

enum profile_value profile_value_shown(const struct lens *lens, const struct profile *p) {
	const struct metric *m = &lens_metrics[lens->metric];
	enum profile_value views[N_PROFILE_VALUES] = {PROFILE_PEAK_BYTES};
	switch (m->rule) {
	case METRIC_NEVER_FREED:
	case METRIC_KEPT: return PROFILE_LIVE_BYTES;
	case METRIC_MADE: return m->is_counted ? PROFILE_ALLOC_OBJECTS : PROFILE_ALLOC_BYTES;
	case METRIC_MADE_TEMPORARY: return PROFILE_TEMPORARY;
	default: (void)profile_views(p, PROFILE_PEAK_BYTES, views); return views[0];
	}
}

static uint32_t text_of(struct making *k, uint32_t string) {
	return string ? profile_maker_string(k->m, k->r->strings.items[string]) : 0;
}

static uint32_t build_id_of(struct making *k, const struct rec_module *m) {
	char text[2 * sizeof m->build_id + 1];
	put_hexadecimal(text, m->build_id, m->build_id_bytes);
	return profile_maker_string(k->m, slice_of(text, m->build_id_bytes * 2u));
}

static bool is_program(const struct recording *r, uint32_t module) {
	uint32_t path = r->modules.items[module].path;
	return path == 0 || slice_equal(r->strings.items[path], r->strings.items[r->meta.exe]);
}

/** The program comes first, which tells pprof that it is the program. */
static void make_mappings(struct making *k) {
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 1; i < k->r->modules.n; i++) {
			const struct rec_module *m = &k->r->modules.items[i];
			if (is_program(k->r, i) != (pass == 0)) {
				continue;
			}
			struct profile_mapping mapping = {
					FIELDS_OF(m, start, end),
					.file_offset = m->start - m->bias,
					.path = text_of(k, m->path ? m->path : k->r->meta.exe),
					.build_id = build_id_of(k, m),
					.has_functions = m->has_symbols,
					.has_lines = m->has_lines,
			};
			k->mapping_of[i] = profile_maker_mapping(k->m, &mapping);
		}
	}
}

/** What the lens groups frames by. */
static struct slice group_of(const struct making *k, const struct name *name) {
	switch (k->lens->group) {
	case LENS_BY_PACKAGE: return names_package(name);
	case LENS_BY_MODULE: return name->module.size ? path_base(name->module) : name->function;
	case LENS_BY_FILE: return name->file.size ? name->file : name->function;
	default: return name->function;
	}
}

/** Unnamed code has other addresses in other builds: a module's is one function. */
static uint32_t make_plain_frame(struct making *k, const struct name *name) {
	SCOPED(buffer) text = {0};
	struct slice group = group_of(k, name);
	group = k->is_plain ? function_bare(group) : group;
	if (!name->has_name && name->module.size) {
		buffer_text(&text, "code without a name in ");
		group = path_base(name->module);
	}
	buffer_slice(&text, group);
	struct profile_frame f = {.function = profile_maker_string(k->m, buffer_view(&text))};
	return profile_maker_frame(k->m, &f);
}

static uint32_t make_frame(struct making *k, uint32_t location, const struct name *name) {
	if (k->is_plain || k->lens->group != LENS_BY_FUNCTION) {
		return make_plain_frame(k, name);
	}
	const struct rec_location *l = &k->r->locations.items[location];
	struct profile_frame f = {
			.function = profile_maker_string(k->m, name->function),
			.symbol = name->symbol.size ? profile_maker_string(k->m, name->symbol) : 0,
			.file = name->file.size ? profile_maker_string(k->m, name->file) : 0,
			.line = name->line,
			.mapping = k->mapping_of[l->module],
			.address = l->pc - (l->is_exact || l->is_mark || l->pc == 0 ? 0 : 1),
			.is_inlined = name->is_inlined,
	};
	return profile_maker_frame(k->m, &f);
}

static uint32_t frame_of(struct making *k, uint32_t location, const struct name *name) {
	uint32_t *known = &k->frame_ids[names_number(k->names, name)];
	*known = *known ?: make_frame(k, location, name) + 1;
	return *known - 1;
}

/** Add a frame; the same node if the lens groups both. */
static uint32_t add_frame(struct making *k, uint32_t at, uint32_t frame) {
	bool is_grouped = k->lens->group != LENS_BY_FUNCTION;
	bool is_same = at && k->m->nodes.items[at].frame == frame;
	return is_grouped && is_same ? at : profile_maker_node(k->m, at, frame);
}

static void make_nodes(struct making *k) {
	bool has_focus = k->lens->n_focus > 0;
	k->is_focused[0] = !has_focus;
	for (uint32_t i = 1; i < k->r->nodes.n && !k->m->failed; i++) {
		const struct rec_node *node = &k->r->nodes.items[i];
		uint32_t at = k->node_of[node->parent];
		const struct name_list frames = names_of(k->names, node->location);
		bool is_focused = k->is_focused[node->parent];
		for (const struct name *f = frames.items + frames.n; f-- > frames.items;) {
			unsigned lens = lens_frame_of(&k->match, f);
			is_focused |= (lens & LENS_IS_FOCUS) != 0;
			if (is_focused && !(lens & LENS_IS_HIDDEN)) {
				at = add_frame(k, at, frame_of(k, node->location, f));
			}
		}
		k->node_of[i] = at;
		k->is_focused[i] = is_focused;
	}
}

/** The frame that a stack is named after; a runtime's stacks have none, only a name. */
static uint32_t site_of(struct making *k, uint32_t node) {
	struct stack_walk w = stack_walk_init(k->r, k->names, node);
	const struct name *const site = w.site, *f;
	if (site && SOME((f = stack_walk_next(&w)), f == site)) {
		return frame_of(k, w.location, f);
	}
	struct profile_frame named = {
			.function = site ? profile_maker_string(k->m, site->function) : 0};
	return site ? profile_maker_frame(k->m, &named) : 0;
}

struct answers {
	struct lens_result peak, live;
};

static void ask(struct making *k, struct answers *out) {
	const struct diff_input in = {k->r, k->names, k->lens};
	bool is_kept = lens_metrics[k->lens->metric].rule == METRIC_KEPT;
	struct lens lens;
	diff_apply(&in, LENS_PEAK, &k->scratch, &lens, &out->peak);
	diff_apply(&in, is_kept ? LENS_KEPT : LENS_NEVER_FREED, &k->scratch, &lens, &out->live);
}

static void add_values(struct profile_sample *s, const struct lens_costs *peak,
		const struct lens_costs *live) {
	s->values[PROFILE_ALLOC_OBJECTS] += peak->allocations;
	s->values[PROFILE_ALLOC_BYTES] += peak->allocated_bytes;
	s->values[PROFILE_TEMPORARY] += peak->temporary;
	s->values[PROFILE_PEAK_OBJECTS] += peak->blocks;
	s->values[PROFILE_PEAK_BYTES] += peak->bytes;
	s->values[PROFILE_LIVE_OBJECTS] += live->blocks;
	s->values[PROFILE_LIVE_BYTES] += live->bytes;
}

static uint64_t only_size(const struct making *k, const struct rec_stack *s) {
	uint64_t bytes;
	bool is_one = !__builtin_mul_overflow(s->allocations, s->usual_size, &bytes) &&
			bytes == s->allocated_bytes;
	bool is_known = !(k->r->missing & (REC_ALLOCATIONS | REC_ALLOCATED_BYTES));
	return is_one && is_known && !k->is_plain ? s->usual_size : 0;
}

static void make_samples(struct making *k, const struct answers *a) {
	for (uint32_t i = 0; i < k->r->stacks.n; i++) {
		const struct rec_stack *stack = &k->r->stacks.items[i];
		const struct lens_costs *peak = &a->peak.stacks[i], *live = &a->live.stacks[i];
		if (!peak->allocations && !peak->blocks && !peak->bytes && !live->blocks && !live->bytes) {
			continue;
		}
		uint32_t site = site_of(k, stack->node);
		const uint32_t command = k->r->commands.n && !k->is_plain
				? text_of(k, k->r->commands.items[stack->command].name)
				: 0;
		struct profile_sample *s = profile_maker_sample(k->m,
				&(struct profile_sample){k->node_of[stack->node], .command = command,
						.size = only_size(k, stack), .is_base = k->is_base});
		if (!s) {
			return;
		}
		s->site = site;
		add_values(s, peak, live);
		k->sample_of[i] = (uint32_t)(s - k->m->samples.items) + 1;
	}
}

/** What pointed to never freed blocks, by a look at the end, unless the lens has a range. */
static void make_grades(struct making *k, const struct lens_costs *live) {
	const struct memory_grades g = memory_grades(k->r, UINT64_MAX);
	bool is_of_end = g.look && (g.look->at == REC_AT_END || g.look->at == REC_AT_DETACH);
	const uint32_t n = is_of_end && !k->lens->has_range ? k->r->stacks.n : 0;
	for (uint32_t i = 0, at = 0; i < n; i++) {
		struct profile_grade rest = {"not_looked_at", k->sample_of[i] - 1, live[i].blocks,
				live[i].bytes};
		for (; at < g.n_rows && g.rows[at].stack <= i; at++) {
			const struct rec_grade *row = &g.rows[at];
			if (row->blocks <= rest.blocks && row->bytes <= rest.bytes) {
				PROFILE_MAKER_ADD(k->m, grades,
						(struct profile_grade){lens_grade_names[row->grade], rest.sample,
								row->blocks, row->bytes});
				rest.blocks -= row->blocks;
				rest.bytes -= row->bytes;
			}
		}
		if (rest.blocks > 0) {
			PROFILE_MAKER_ADD(k->m, grades, rest);
		}
	}
}

/** What was live when, under the lens: moments are the edges of its range. */
static void make_lives(struct making *k) {
	const struct lens *lens = k->lens;
	const struct recording *r = k->r;
	uint32_t first = lens->has_range ? (uint32_t)(lens->from + 1) : 0;
	uint32_t end = lens->has_range && (uint32_t)lens->to < r->edges.n ? (uint32_t)lens->to + 1
																	  : r->edges.n;
	uint32_t n = end > first ? end - first : 0;
	struct profile_moment *moments = arena_new(&k->scratch, struct profile_moment, n + 1ul);
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = recording_interval(r, i);
		bool is_before = v.until <= first && v.until != REC_NEVER;
		bool is_outside = lens->has_range && (v.from >= end || (v.from < first && is_before));
		if (is_outside || k->sample_of[v.stack] == 0) {
			continue;
		}
		// What was there before the range comes with it; what outlives it stays
		uint32_t from = v.from > first ? v.from - first : 0;
		bool outlives = v.until == REC_NEVER || (lens->has_range && v.until >= end);
		uint32_t until = outlives ? PROFILE_NEVER : v.until - first;
		PROFILE_MAKER_ADD(k->m, lives,
				(struct profile_life){k->sample_of[v.stack] - 1, from, until, v.count, v.bytes});
		moments[from < n ? from : n].bytes += v.bytes;
		moments[from < n ? from : n].blocks += v.count;
		moments[until < n ? until : n].bytes -= v.bytes;
		moments[until < n ? until : n].blocks -= v.count;
	}
	uint64_t bytes = 0, blocks = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct rec_edge *e = &r->edges.items[first + i];
		bytes += moments[i].bytes;
		blocks += moments[i].blocks;
		bool has_detail = r->intervals.n > 0;
		PROFILE_MAKER_ADD(k->m, moments,
				(struct profile_moment){e->time_ns, has_detail ? bytes : e->bytes,
						has_detail ? blocks : e->blocks});
	}
}

/** The command line; an imported file has only the program and its arguments. */
static void put_command(struct buffer *out, const struct recording *r) {
	const struct slice *argv = &r->strings.items[r->meta.argv_first];
	struct slice exe = r->strings.items[r->meta.exe];
	bool has_program = r->meta.n_argv && slice_equal(path_base(argv[0]), path_base(exe));
	if (!has_program) {
		buffer_slice(out, exe);
	}
	for (uint32_t i = 0; i < r->meta.n_argv; i++) {
		if (out->size) {
			buffer_u8(out, ' ');
		}
		buffer_slice(out, argv[i]);
	}
}

static void make_head(struct making *k, const struct answers *a) {
	const struct rec_meta *meta = &k->r->meta;
	struct profile *head = &k->m->head;
	SCOPED(buffer) command = {0};
	head->program = text_of(k, meta->exe);
	put_command(&command, k->r);
	head->command = profile_maker_string(k->m, buffer_view(&command));
	COPY_FIELDS(head, meta, pid, wall_start_ns, duration_ns);
	head->peak_time_ns = a->peak.moment_ns;
}

static void add_side(struct profile_maker *m, const struct session *session,
		const struct lens *lens, bool is_base, bool is_plain) {
	struct making k = {.m = m,
			.r = &session->recording,
			.names = session->names,
			.lens = lens,
			.is_base = is_base,
			.is_plain = is_plain};
	struct answers answers;
	k.mapping_of = arena_new(&k.scratch, uint32_t, k.r->modules.n);
	k.node_of = arena_new(&k.scratch, uint32_t, k.r->nodes.n);
	k.sample_of = arena_new(&k.scratch, uint32_t, k.r->stacks.n);
	k.is_focused = arena_new(&k.scratch, uint8_t, k.r->nodes.n);
	k.frame_ids = arena_new(&k.scratch, uint32_t, names_n_frames(k.names));
	k.match = lens_match_names(lens, k.r, k.names, &k.scratch);
	ask(&k, &answers);
	if (!is_plain) {
		make_mappings(&k);
	}
	make_nodes(&k);
	make_samples(&k, &answers);
	if (!is_plain) {
		make_lives(&k);
		make_grades(&k, answers.live.stacks);
	}
	if (!is_base) {
		make_head(&k, &answers);
	}
	arena_finish(&k.scratch);
}

/** Drop figures that were made up for an imported file. */
static void drop_unknown(struct profile *p) {
	for (uint32_t i = 0; i < p->samples.n; i++) {
		for (int v = 0; v < N_PROFILE_VALUES; v++) {
			uint64_t *value = &p->samples.items[i].values[v];
			*value = profile_knows(p, (enum profile_value)v) ? *value : 0;
		}
	}
}

bool profile_of_request(struct profile *out, const struct export_request *request,
		struct arena *arena, struct err *err) {
	SCOPED(profile_maker) m;
	const struct session *base = request->base;
	profile_maker_init(&m, arena);
	add_side(&m, request->session, request->lens, false, base != NULL);
	if (base) {
		add_side(&m, base, request->base_lens, true, true);
	}
	m.head.is_diff = base != NULL;
	m.head.known = PROFILE_KNOWS_ALL &
			~(request->session->recording.missing | (base ? base->recording.missing : 0));
	bool ok = profile_maker_take(&m, out, err);
	if (ok) {
		drop_unknown(out);
	}
	return ok;
}
