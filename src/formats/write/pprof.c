// SPDX-License-Identifier: MIT
/*
 * Writes google/pprof's profile.proto. A Location is one address with all that was inlined there,
 * so inlined nodes are merged with the node they are inlined into:
 *
 *   nodes      main <- spike <- (make_row, inlined into spike) <- operator new
 *   locations  [main]  [make_row, spike]  [operator new]            lines innermost first
 */
#include "formats/formats.h"
#include "formats/protobuf.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

struct writer {
	struct buffer *out;
	struct buffer message, part, packed; // under construction
	const struct profile *p;
	struct arena scratch;
	struct profile_places places; // one per Location
	struct profile_functions functions;
	struct texts texts; // strings after the profile's
};

static uint32_t text_id(struct writer *w, const char *text) {
	return w->p->strings.n + texts_id_of(&w->texts, text) - 1; // the first text is empty, unwritten
}

static void end_message(struct writer *w, unsigned field) {
	proto_bytes(w->out, field, buffer_view(&w->message));
	buffer_clear(&w->message);
}

static void end_part(struct writer *w, unsigned field) {
	proto_bytes(&w->message, field, buffer_view(&w->part));
	buffer_clear(&w->part);
}

/** Write numbers as fields from 1 on. */
#define PUT_NUMBERS(out, ...)                           \
	do {                                                \
		const uint64_t numbers_[] = {__VA_ARGS__};      \
		for (unsigned i = 0; i < N_OF(numbers_); i++) { \
			proto_varint(out, i + 1, numbers_[i]);      \
		}                                               \
	} while (0)

static void put_types(struct writer *w) {
	EACH_NUMBER(i, N_PROFILE_VALUES, profile_knows(w->p, pprof_types[i].value)) {
		proto_varint(&w->message, 1, text_id(w, pprof_types[i].type));
		proto_varint(&w->message, 2, text_id(w, pprof_types[i].unit));
		end_message(w, PROFILE_SAMPLE_TYPE);
	}
}

static void put_label(struct writer *w, const char *key, uint32_t text, uint64_t number,
		const char *unit) {
	proto_varint(&w->part, 1, text_id(w, key));
	proto_varint(&w->part, 2, text);
	proto_varint(&w->part, 3, number);
	proto_varint(&w->part, 4, unit ? text_id(w, unit) : 0);
	end_part(w, 3);
}

/** A comparison's base is as from `pprof -diff_base`: negative, with a label. */
static bool put_values(struct writer *w, const struct profile_sample *s) {
	uint64_t any = 0;
	buffer_clear(&w->packed);
	EACH_NUMBER(i, N_PROFILE_VALUES, profile_knows(w->p, pprof_types[i].value)) {
		uint64_t v = s->values[pprof_types[i].value];
		buffer_varint(&w->packed, s->is_base ? -v : v);
		any |= v;
	}
	proto_bytes(&w->message, 2, buffer_view(&w->packed));
	return any != 0;
}

/** `grade`: the sample has only never freed blocks of it; or NULL. */
static void put_sample(struct writer *w, const struct profile_sample *s, const char *grade) {
	buffer_clear(&w->message);
	buffer_clear(&w->packed);
	for (uint32_t node = s->node; node; node = profile_caller_of(w->p, &w->places, node)) {
		buffer_varint(&w->packed, w->places.tree.of_node[node]);
	}
	proto_bytes(&w->message, 1, buffer_view(&w->packed));
	if (!put_values(w, s)) {
		buffer_clear(&w->message);
		return;
	}
	if (s->size) {
		put_label(w, "bytes", 0, s->size, "bytes");
	}
	if (s->command) {
		put_label(w, "command", s->command, 0, NULL);
	}
	if (grade) {
		put_label(w, "grade", text_id(w, grade), 0, NULL);
	}
	if (s->is_base) {
		put_label(w, "pprof::base", text_id(w, "true"), 0, NULL);
	}
	end_message(w, PROFILE_SAMPLE);
}

/** `rest`: all samples; those of a grade are subtracted. */
static void put_samples(struct writer *w, struct profile_sample *rest) {
	EACH(g, w->p->grades) {
		struct profile_sample *s = &rest[g->sample];
		const struct profile_sample graded = {FIELDS_OF(s, node, size, command),
				.values = {[PROFILE_LIVE_OBJECTS] = g->blocks, [PROFILE_LIVE_BYTES] = g->bytes}};
		s->values[PROFILE_LIVE_OBJECTS] -= g->blocks;
		s->values[PROFILE_LIVE_BYTES] -= g->bytes;
		put_sample(w, &graded, g->name);
	}
	EACH_OF(s, rest, w->p->samples.n) {
		put_sample(w, s, NULL);
	}
}

static void put_mapping(struct writer *w, uint32_t id) {
	const struct profile_mapping *m = &w->p->mappings.items[id];
	PUT_NUMBERS(&w->message, id, m->start, m->end, m->file_offset, m->path, m->build_id,
			m->has_functions, m->has_lines, m->has_lines, m->has_lines);
	end_message(w, PROFILE_MAPPING);
}

static void put_location(struct writer *w, uint32_t id) {
	const struct profile_frame *first = &w->p->frames.items[w->places.tree.nodes[id].frame];
	PUT_NUMBERS(&w->message, id, first->mapping, first->address);
	for (uint32_t at = id; at; at = w->places.tree.nodes[at].parent) {
		uint32_t frame = w->places.tree.nodes[at].frame;
		PUT_NUMBERS(&w->part, w->functions.of_frame[frame], w->p->frames.items[frame].line);
		end_part(w, 4);
	}
	end_message(w, PROFILE_LOCATION);
}

static void put_function(struct writer *w, uint32_t id) {
	const struct profile_frame *f = &w->p->frames.items[w->functions.frame[id]];
	PUT_NUMBERS(&w->message, id, f->function, f->symbol ? f->symbol : f->function, f->file);
	end_message(w, PROFILE_FUNCTION);
}

static void put_head(struct writer *w, enum profile_value shown) {
	const struct profile *p = w->p;
	proto_varint(w->out, PROFILE_TIME_NANOS, p->wall_start_ns);
	proto_varint(w->out, PROFILE_DURATION_NANOS, p->duration_ns);
	proto_varint(&w->message, 1, text_id(w, "space"));
	proto_varint(&w->message, 2, text_id(w, "bytes"));
	end_message(w, PROFILE_PERIOD_TYPE);
	proto_varint(w->out, PROFILE_PERIOD, 1); // every allocation, not a sample
	proto_varint(w->out, PROFILE_COMMENT, p->command);
	EACH_NUMBER(i, N_PROFILE_VALUES, pprof_types[i].value == shown && profile_knows(p, shown)) {
		proto_varint(w->out, PROFILE_DEFAULT_SAMPLE_TYPE, text_id(w, pprof_types[i].type));
	}
}

static void put_strings(struct writer *w) {
	for (uint32_t i = 0; i < w->p->strings.n; i++) {
		proto_bytes(w->out, PROFILE_STRING_TABLE, w->p->strings.items[i]);
	}
	for (size_t i = 1; i < w->texts.n; i++) {
		proto_bytes(w->out, PROFILE_STRING_TABLE, w->texts.items[i]);
	}
}

bool pprof_encode(struct buffer *out, const struct profile *p, const struct write_options *options,
		struct err *err) {
	(void)err;
	struct writer w = {.out = out, .p = p, .texts.borrows = true};
	profile_find_places(p, UINT32_MAX, &w.scratch, &w.places);
	profile_find_functions(p, PROFILE_BY_SYMBOL | PROFILE_BY_FILE, &w.scratch, &w.functions);
	struct profile_sample *rest = arena_copy(&w.scratch, p->samples.items, p->samples.n,
			sizeof *rest);
	put_types(&w);
	put_samples(&w, rest);
	for (uint32_t i = 1; i < p->mappings.n; i++) {
		put_mapping(&w, i);
	}
	for (uint32_t i = 1; i < w.places.tree.n; i++) {
		put_location(&w, i);
	}
	for (uint32_t i = 1; i < w.functions.n; i++) {
		put_function(&w, i);
	}
	put_head(&w, options->shown);
	put_strings(&w);
	texts_finish(&w.texts);
	CALL_FOR(buffer_finish, &w, message, part, packed);
	arena_finish(&w.scratch);
	return true;
}
