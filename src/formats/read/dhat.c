// SPDX-License-Identifier: MIT
/*
 * Reads DHAT's JSON, valgrind's or Rust's, twice, as frames follow the program points using them.
 */
#include "formats/formats.h"
#include "formats/read/place.h"

struct reading {
	struct profile_maker *m;
	struct json_reader j;
	VEC(uint32_t) table; // frames
	VEC(uint64_t) stack; // indices into the table, innermost first
	uint64_t version;
	bool has_lifetimes, has_micros;
	uint64_t end, peak; // in the file's unit
	bool is_wrong;      // an index beyond the table
};

static void take_table(struct reading *r) {
	JSON_EACH(&r->j, '[') {
		struct profile_frame f = place_parse(r->m, json_take_text(&r->j));
		r->m->failed |= !vec_add(&r->table, profile_maker_frame(r->m, &f));
	}
}

static void take_head(struct reading *r) {
	struct json_reader *j = &r->j;
	for (json_enter(j, '{'); json_next(j) && !r->m->failed;) {
		if (json_key_is(j, "dhatFileVersion")) {
			r->version = json_take_number(j);
		} else if (json_key_is(j, "bklt")) {
			r->has_lifetimes = json_take_bool(j);
		} else if (json_key_is(j, "cmd")) {
			struct slice text = json_take_text(j);
			r->m->head.command = profile_maker_string(r->m, text);
			r->m->head.program = profile_maker_string(r->m, before_first(text, ' '));
		} else if (json_key_is(j, "pid")) {
			r->m->head.pid = (uint32_t)json_take_number(j);
		} else if (json_key_is(j, "tu")) {
			struct slice unit = json_take_text(j);
			r->has_micros = slice_is(unit, "µs") || slice_is(unit, "us");
		} else if (json_key_is(j, "te")) {
			r->end = json_take_number(j);
		} else if (json_key_is(j, "tg")) {
			r->peak = json_take_number(j);
		} else if (json_key_is(j, "ftbl")) {
			take_table(r);
		} else {
			json_skip(j);
		}
	}
}

static void take_stack(struct reading *r) {
	r->stack.n = 0;
	JSON_EACH(&r->j, '[') {
		uint64_t index = json_take_number(&r->j);
		r->m->failed |= !vec_add(&r->stack, index);
		r->is_wrong |= index >= r->table.n;
	}
}

/** Index 0 is "[root]", not a frame. */
static uint32_t node_of_stack(struct reading *r) {
	uint32_t node = 0;
	struct profile_frame outer = {0};
	for (size_t i = r->stack.n; i-- > 0 && !r->is_wrong && !r->m->failed;) {
		if (r->stack.items[i]) {
			node = place_add(r->m, node, r->table.items[r->stack.items[i]], &outer);
		}
	}
	return node;
}

static void take_point(struct reading *r) {
	static const struct {
		const char *key;
		enum profile_value value;
	} fields[] = {
			{"tb", PROFILE_ALLOC_BYTES},
			{"tbk", PROFILE_ALLOC_OBJECTS},
			{"gb", PROFILE_PEAK_BYTES},
			{"gbk", PROFILE_PEAK_OBJECTS},
			{"eb", PROFILE_LIVE_BYTES},
			{"ebk", PROFILE_LIVE_OBJECTS},
	};
	uint64_t values[N_PROFILE_VALUES] = {0};
	r->stack.n = 0;
	JSON_EACH(&r->j, '{') {
		__auto_type field = FIND(f, fields, N_OF(fields), json_key_is(&r->j, f->key));
		if (field) {
			values[field->value] = json_take_number(&r->j);
		} else if (json_key_is(&r->j, "fs")) {
			take_stack(r);
		} else {
			json_skip(&r->j);
		}
	}
	struct profile_sample *s = profile_maker_sample(r->m,
			&(struct profile_sample){.node = node_of_stack(r)});
	for (int v = 0; s && v < N_PROFILE_VALUES; v++) {
		s->values[v] += values[v];
	}
}

static void take_points(struct reading *r) {
	for (json_enter(&r->j, '{'); json_next(&r->j) && !r->m->failed && !r->is_wrong;) {
		if (!json_key_is(&r->j, "pps")) {
			json_skip(&r->j);
			continue;
		}
		for (json_enter(&r->j, '['); json_next(&r->j) && !r->m->failed && !r->is_wrong;) {
			take_point(r);
		}
	}
}

static bool is_sound(const struct reading *r, struct err *err) {
	if (r->j.failed) {
		return err_format(err, "the JSON is damaged or cut short");
	}
	if (r->version != 2) {
		return err_unsupported(err, "unsupported DHAT file version %llu; only 2 is supported",
				(unsigned long long)r->version);
	}
	return !r->is_wrong || err_format(err, "a stack has a frame that is not in the table");
}

bool dhat_knows(struct slice head) {
	return starts_with(skip_spaces(head), "{") &&
			memmem(head.data, head.size, "\"dhatFileVersion\"", 17);
}

bool dhat_decode(struct profile_maker *m, struct slice in, struct err *err) {
	struct reading r = {.m = m};
	json_reader_init(&r.j, in);
	take_head(&r);
	bool ok = is_sound(&r, err);
	json_reader_finish(&r.j);
	json_reader_init(&r.j, in);
	if (ok) {
		take_points(&r);
		ok = is_sound(&r, err);
	}
	m->head.known = 1u << PROFILE_ALLOC_BYTES | 1u << PROFILE_ALLOC_OBJECTS;
	if (r.has_lifetimes) {
		m->head.known |= 1u << PROFILE_PEAK_BYTES | 1u << PROFILE_PEAK_OBJECTS |
				1u << PROFILE_LIVE_BYTES | 1u << PROFILE_LIVE_OBJECTS;
	}
	uint64_t unit = r.has_micros ? 1000 : 1; // instructions count as ns
	if (__builtin_mul_overflow(r.end, unit, &m->head.duration_ns) ||
			__builtin_mul_overflow(r.peak, unit, &m->head.peak_time_ns)) {
		m->head.duration_ns = m->head.peak_time_ns = 0;
	}
	json_reader_finish(&r.j);
	CALL_FOR(vec_finish, &r, table, stack);
	return ok;
}
