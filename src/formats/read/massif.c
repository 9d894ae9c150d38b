// SPDX-License-Identifier: MIT
/*
 * Reads massif.out (write/massif.c shows its tree). If the children of a place hold less than it
 * does, some stacks begin there: it is their outermost frame. So every place becomes a sample with
 * what its children leave; its stack is the path down to the root of the tree.
 */
#include "formats/formats.h"
#include "formats/read/place.h"

struct level {
	uint32_t frame;
	uint64_t left;     // bytes not in children so far
	uint64_t children; // still to come
};

/** A snapshot with stacks. All 0: there is none. */
struct snapshot {
	struct position {
		struct slice rest;
		size_t line_number;
	} tree;
	uint64_t bytes, time_ns;
};

struct reading {
	struct profile_maker *m;
	struct position at;
	bool is_ns; // whether times are
	VEC(struct level) levels;
	uint64_t time_ns; // of the current snapshot
	uint64_t visits;  // of frames: bounded, since a narrow file could cost hours
	enum profile_value value;
	struct snapshot largest, last; // massif's peak, if it saw one; else the largest with stacks
	bool has_peak;
	uint32_t n_snapshots;
};

enum { MOST_VISITS = 1 << 28 };

static bool take_line(struct reading *r, struct slice *line) {
	while (next_line(&r->at.rest, line)) {
		r->at.line_number++;
		if (line->size && line->data[0] != '#') {
			return true;
		}
	}
	return false;
}

/** What is left at the innermost level is a stack of its own. */
static void add_stack(struct reading *r) {
	uint64_t bytes = r->levels.items[r->levels.n - 1].left;
	r->visits += r->levels.n;
	if (bytes == 0 || r->m->failed || r->visits > MOST_VISITS) {
		return;
	}
	uint32_t node = 0;
	struct profile_frame outer = {0};
	for (size_t i = r->levels.n; i-- > 1 && !r->m->failed;) { // the deepest place is outermost
		node = place_add(r->m, node, r->levels.items[i].frame, &outer);
	}
	struct profile_sample *s = profile_maker_sample(r->m, &(struct profile_sample){.node = node});
	if (s) {
		s->values[r->value] += bytes;
	}
}

/** " n2: 1000 0x1234: make_row (app.cpp:12)" */
static bool take_place(struct reading *r, struct slice line, struct err *err) {
	uint64_t children, bytes;
	line = skip_spaces(line);
	if (!take_prefix(&line, "n") || !take_decimal(&line, &children) || !take_prefix(&line, ":") ||
			!take_decimal(&line, &bytes)) {
		return err_format(err, "not a line of a tree");
	}
	line = skip_spaces(line);
	struct level *parent = r->levels.n ? &r->levels.items[r->levels.n - 1] : NULL;
	if (parent && parent->left < bytes) {
		return err_format(err, "more bytes than the place above has");
	}
	struct profile_frame f = {0};
	if (starts_with(line, "in ")) {
		f.function = profile_maker_string(r->m, slice_of_text("(places below the threshold)"));
	} else if (r->levels.n > 0) {
		f = place_parse(r->m, line);
	}
	if (parent) {
		parent->left -= bytes;
		parent->children--;
	}
	struct level level = {profile_maker_frame(r->m, &f), bytes, children};
	return vec_add(&r->levels, level) || err_memory(err);
}

static bool take_tree(struct reading *r, const struct snapshot *s, enum profile_value value,
		struct err *err) {
	struct slice line;
	if (s->tree.line_number == 0) {
		return true;
	}
	r->at = s->tree;
	r->levels.n = 0;
	r->value = value;
	r->m->head.known |= 1u << value;
	do {
		if (!take_line(r, &line)) {
			return err_format(err, "the file ends within a tree");
		}
		if (!take_place(r, line, err)) {
			return false;
		}
		while (r->levels.n && r->levels.items[r->levels.n - 1].children == 0) {
			add_stack(r);
			r->levels.n--;
		}
	} while (r->levels.n && !r->m->failed);
	return r->visits <= MOST_VISITS || err_limit(err, "the tree is too deep");
}

static bool take_field(struct reading *r, const char *name, uint64_t *out, struct err *err) {
	struct slice line;
	return (take_line(r, &line) && take_prefix(&line, name) && take_decimal(&line, out)) ||
			err_format(err, "\"%s\" is missing", name);
}

static void skip_tree(struct reading *r) {
	struct position before = r->at;
	for (struct slice line; take_line(r, &line) && starts_with(skip_spaces(line), "n");) {
		before = r->at;
	}
	r->at = before;
}

/** After "snapshot=N". */
static bool take_snapshot(struct reading *r, struct err *err) {
	uint64_t time, bytes, extra, stacks;
	struct slice line;
	if (!take_field(r, "time=", &time, err) || !take_field(r, "mem_heap_B=", &bytes, err) ||
			!take_field(r, "mem_heap_extra_B=", &extra, err) ||
			!take_field(r, "mem_stacks_B=", &stacks, err)) {
		return false;
	}
	if (!take_line(r, &line) || !take_prefix(&line, "heap_tree=")) {
		return err_format(err, "\"heap_tree=\" is missing");
	}
	if (__builtin_mul_overflow(time, r->is_ns ? 1u : 1000000u, &time) ||
			(r->n_snapshots > 0 && time < r->time_ns)) {
		return err_format(err, "time goes backwards");
	}
	r->time_ns = time;
	r->n_snapshots++;
	PROFILE_MAKER_ADD(r->m, moments, (struct profile_moment){time, bytes, 0});
	bool has_tree = !starts_with(line, "empty"), is_peak = starts_with(line, "peak");
	r->last = has_tree ? (struct snapshot){r->at, bytes, time} : (struct snapshot){0};
	if (!r->has_peak && (is_peak || r->last.bytes > r->largest.bytes)) {
		r->largest = r->last;
		r->has_peak = is_peak;
	}
	skip_tree(r);
	return true;
}

static bool take_head(struct reading *r, struct err *err) {
	struct slice line = {0};
	while (take_line(r, &line) && starts_with(line, "desc:")) {}
	if (!take_prefix(&line, "cmd:")) {
		return err_format(err, "\"cmd:\" is missing");
	}
	line = skip_spaces(line);
	r->m->head.command = profile_maker_string(r->m, line);
	r->m->head.program = profile_maker_string(r->m, before_first(line, ' '));
	if (!take_line(r, &line) || !take_prefix(&line, "time_unit:")) {
		return err_format(err, "\"time_unit:\" is missing");
	}
	line = skip_spaces(line);
	r->is_ns = !slice_is(line, "ms");
	r->m->head.time_unit = line.size == 1 && strchr("iB", line.data[0]) ? line.data[0] : 0;
	return true;
}

bool massif_knows(struct slice head) {
	return starts_with(head, "desc:") && memmem(head.data, head.size, "\ncmd:", 5);
}

static bool take_all(struct reading *r, struct err *err) {
	struct slice line;
	bool ok = take_head(r, err);
	while (ok && !r->m->failed && take_line(r, &line)) {
		ok = starts_with(line, "snapshot=") ? take_snapshot(r, err)
											: err_format(err, "a snapshot should begin here");
	}
	r->m->head.duration_ns = r->time_ns;
	r->m->head.peak_time_ns = r->largest.time_ns;
	// The last one's tree is what was never freed
	return ok && take_tree(r, &r->largest, PROFILE_PEAK_BYTES, err) &&
			take_tree(r, &r->last, PROFILE_LIVE_BYTES, err);
}

bool massif_decode(struct profile_maker *m, struct slice in, struct err *err) {
	struct reading r = {.m = m, .at.rest = in};
	bool ok = take_all(&r, err) || err_add(err, "line %zu", r.at.line_number);
	vec_finish(&r.levels);
	return ok &&
			(m->head.known || m->failed || err_format(err, "none of its snapshots has stacks"));
}
