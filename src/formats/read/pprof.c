// SPDX-License-Identifier: MIT
/*
 * Reads profile.proto. Fields may come in any order, and ids are arbitrary, so all tables are
 * collected and sorted by id first; then samples are read. A Location's lines are innermost first;
 * the last is the function into which the others were inlined.
 */
#include "formats/formats.h"
#include "formats/protobuf.h"

const struct pprof_type pprof_types[N_PROFILE_VALUES] = {
		{PROFILE_ALLOC_OBJECTS, "alloc_objects", "count"},
		{PROFILE_ALLOC_BYTES, "alloc_space", "bytes"},
		{PROFILE_LIVE_OBJECTS, "inuse_objects", "count"},
		{PROFILE_LIVE_BYTES, "inuse_space", "bytes"},
		{PROFILE_PEAK_OBJECTS, "peak_objects", "count"},
		{PROFILE_PEAK_BYTES, "peak_space", "bytes"},
		{PROFILE_TEMPORARY, "temporary", "count"},
};

struct entry { // a table's entry: an id, and its message
	uint64_t id;
	struct slice message;
	uint32_t made; // mappings: the profile's; + 1
};

struct table {
	VEC(struct entry);
};

struct reading {
	struct profile_maker *m;
	struct table functions, locations, mappings;
	VEC(struct slice) strings, samples, types;
	VEC(uint64_t) ids, numbers; // of the current sample
	int value_of[64];           // per type: enum profile_value, or -1
	uint64_t budget;            // frames that may still be visited: small files must not cost hours
};

enum { VISITS_PER_BYTE = 64 };

// ---- fields

/** The number in a field of a message; the last one counts. */
static uint64_t field(struct slice message, uint32_t id) {
	struct cursor c = cursor_init(message);
	struct proto_field f;
	uint64_t v = 0;
	while (proto_next(&c, &f)) {
		v = f.id == id && f.wire == WIRE_VARINT ? f.number : v;
	}
	return v;
}

/** The numbers of a repeated field, packed or not. */
static bool numbers_of(struct reading *r, const struct proto_field *f, bool is_ids) {
	struct cursor c = cursor_init(f->bytes);
	bool is_packed = f->wire == WIRE_BYTES;
	for (bool goes_on = !is_packed || cursor_left(&c); goes_on;
			goes_on = is_packed && cursor_left(&c)) {
		uint64_t v = is_packed ? cursor_varint(&c) : f->number;
		(void)(is_ids ? vec_add(&r->ids, v) : vec_add(&r->numbers, v));
	}
	return !c.failed;
}

static uint32_t string_of(struct reading *r, uint64_t id) {
	return id < r->strings.n ? profile_maker_string(r->m, r->strings.items[id]) : 0;
}

// ---- tables

static struct entry *find(struct table *t, uint64_t id) {
	struct entry key = {.id = id};
	return t->n ? bsearch(&key, t->items, t->n, sizeof key, by_number) : NULL;
}

static void add_entry(struct table *t, struct slice message) {
	(void)vec_add(t, (struct entry){.id = field(message, 1), .message = message});
}

static bool collect(struct reading *r, struct slice in, struct err *err) {
	struct cursor c = cursor_init(in);
	struct proto_field f;
	while (proto_next(&c, &f)) {
		switch (f.id) {
		case 1: (void)vec_add(&r->types, f.bytes); break;
		case 2: (void)vec_add(&r->samples, f.bytes); break;
		case 3: add_entry(&r->mappings, f.bytes); break;
		case 4: add_entry(&r->locations, f.bytes); break;
		case 5: add_entry(&r->functions, f.bytes); break;
		case 6: (void)vec_add(&r->strings, f.bytes); break;
		case 9: r->m->head.wall_start_ns = f.number; break;
		case 10: r->m->head.duration_ns = f.number; break;
		default: break;
		}
	}
	return !c.failed ||
			err_format(err, "it is damaged or cut short at byte %zu", in.size - cursor_left(&c));
}

static void sort_tables(struct reading *r) {
	struct table *tables[] = {&r->functions, &r->locations, &r->mappings};
	for (size_t i = 0; i < N_OF(tables); i++) {
		vec_sort(tables[i], by_number);
	}
}

static bool take_types(struct reading *r, struct err *err) {
	size_t most = N_OF(r->value_of);
	for (size_t i = 0; i < r->types.n && i < most; i++) {
		uint64_t name = field(r->types.items[i], 1);
		struct slice text = name < r->strings.n ? r->strings.items[name] : (struct slice){0};
		r->value_of[i] = -1;
		EACH_OF(type, pprof_types, N_PROFILE_VALUES) {
			bool is_taken = r->m->head.known >> type->value & 1;
			bool is_old = starts_with(slice_of_text(type->type), "inuse_") &&
					slice_is(text, type->type + 6);
			if ((is_old || slice_is(text, type->type)) && !is_taken) {
				r->value_of[i] = (int)type->value;
				r->m->head.known |= 1u << type->value;
			}
		}
	}
	return r->m->head.known ||
			err_unsupported(err, "not a heap profile: it has neither alloc_space nor inuse_space");
}

static uint32_t make_mapping(struct reading *r, uint64_t id) {
	struct entry *e = id ? find(&r->mappings, id) : NULL;
	if (!e) {
		return 0;
	}
	if (e->made == 0) {
		struct profile_mapping m = {
				.start = field(e->message, 2),
				.end = field(e->message, 3),
				.file_offset = field(e->message, 4),
				.path = string_of(r, field(e->message, 5)),
				.build_id = string_of(r, field(e->message, 6)),
				.has_functions = field(e->message, 7) != 0,
				.has_lines = field(e->message, 9) != 0,
		};
		e->made = profile_maker_mapping(r->m, &m) + 1;
	}
	return e->made - 1;
}

// ---- samples

static uint32_t add_line(struct reading *r, uint32_t node, struct slice line,
		struct profile_frame place, bool is_inlined) {
	uint64_t id = field(line, 1), number = field(line, 2);
	const struct entry *function = id ? find(&r->functions, id) : NULL;
	if (function) {
		place.function = string_of(r, field(function->message, 2));
		place.symbol = string_of(r, field(function->message, 3));
		place.symbol = place.symbol == place.function ? 0 : place.symbol;
		place.file = string_of(r, field(function->message, 4));
	}
	place.line = number <= UINT32_MAX ? (uint32_t)number : 0;
	place.is_inlined = is_inlined;
	return profile_maker_node(r->m, node, profile_maker_frame(r->m, &place));
}

/** Add the frames of a location, outermost first: its lines from last to first. */
static uint32_t add_location(struct reading *r, uint32_t node, uint64_t id) {
	struct entry *e = find(&r->locations, id);
	struct slice lines[64];
	size_t n = 0;
	if (!e) {
		return node;
	}
	struct cursor c = cursor_init(e->message);
	struct proto_field f;
	while (proto_next(&c, &f)) {
		if (f.id == 4 && n < N_OF(lines)) {
			lines[n++] = f.bytes;
		}
		r->budget -= r->budget > 0;
	}
	struct profile_frame place = {
			.mapping = make_mapping(r, field(e->message, 2)),
			.address = field(e->message, 3),
	};
	if (n == 0) {
		return profile_maker_node(r->m, node, profile_maker_frame(r->m, &place));
	}
	for (size_t i = n; i-- > 0;) {
		node = add_line(r, node, lines[i], place, i + 1 < n);
	}
	return node;
}

/** The numeric label "bytes": the size of each block. */
static uint64_t size_of_label(struct reading *r, struct slice label) {
	uint64_t key = field(label, 1);
	bool is_size = key < r->strings.n && slice_is(r->strings.items[key], "bytes");
	return is_size ? field(label, 3) : 0;
}

static bool take_values(struct reading *r, uint32_t node, uint64_t size, struct err *err) {
	struct profile_sample *s = profile_maker_sample(r->m,
			&(struct profile_sample){.node = node, .size = size});
	size_t most = N_OF(r->value_of);
	EACH_NUMBER(i, most, s && i < r->numbers.n && i < r->types.n && r->value_of[i] >= 0) {
		uint64_t *to = &s->values[r->value_of[i]];
		if (r->numbers.items[i] > INT64_MAX) {
			return err_unsupported(err,
					"it has negative numbers: it is a comparison of two profiles");
		}
		if (__builtin_add_overflow(*to, r->numbers.items[i], to)) {
			return err_format(err, "its numbers are too large");
		}
	}
	return true;
}

static bool take_sample(struct reading *r, struct slice message, struct err *err) {
	struct cursor c = cursor_init(message);
	struct proto_field f;
	uint64_t size = 0;
	bool ok = true;
	r->ids.n = r->numbers.n = 0;
	while (ok && proto_next(&c, &f)) {
		if (f.id == 1 || f.id == 2) {
			ok = numbers_of(r, &f, f.id == 1);
		} else if (f.id == 3 && size == 0) {
			size = size_of_label(r, f.bytes);
		}
	}
	if (!ok || c.failed) {
		return err_format(err, "a sample is damaged");
	}
	uint32_t node = 0;
	for (size_t i = r->ids.n; i-- > 0 && r->budget && !r->m->failed;) {
		r->budget--;
		node = add_location(r, node, r->ids.items[i]);
	}
	return take_values(r, node, size, err);
}

bool pprof_knows(struct slice head) {
	// A message that starts with sample types, as all writers' do
	struct cursor c = cursor_init(head);
	struct proto_field f, type;
	if (!proto_next(&c, &f) || f.id != 1 || f.wire != WIRE_BYTES || f.bytes.size > 32) {
		return false;
	}
	struct cursor inner = cursor_init(f.bytes);
	return f.bytes.size > 0 &&
			EVERY(proto_next(&inner, &type),
					(type.id == 1 || type.id == 2) && type.wire == WIRE_VARINT) &&
			!inner.failed;
}

bool pprof_decode(struct profile_maker *m, struct slice in, struct err *err) {
	struct reading r = {.m = m, .budget = (uint64_t)in.size * VISITS_PER_BYTE + 1};
	bool ok = collect(&r, in, err) && take_types(&r, err);
	if (ok) {
		if (r.mappings.n) { // the first is the program
			m->head.program = string_of(&r, field(r.mappings.items[0].message, 5));
		}
		sort_tables(&r);
		ok = ALL(i, r.samples.n, m->failed || take_sample(&r, r.samples.items[i], err)) &&
				(r.budget || err_limit(err, "its stacks are too deep for a file of its size"));
	}
	CALL_FOR(vec_finish, &r, functions, locations, mappings, strings, samples, types, ids, numbers);
	return ok;
}
