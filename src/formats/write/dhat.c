// SPDX-License-Identifier: MIT
/*
 * Writes the JSON that valgrind's dh_view.html shows, version 2, without accesses (bkacc false),
 * with lifetimes in µs. A program point is a stack; the viewer refuses two of the same frames, so
 * stacks whose frames read the same are gathered. Frames are texts, innermost first:
 *
 *   "ftbl":["[root]","0x1234: make_row (app.cpp:12)", ...]
 *
 * What a place held at its own maximum (mb, mbk) and how long its blocks lived (tl) is known at the
 * moments of the recording alone: the largest of them, and differences between them. The base of a
 * comparison stands under a frame "(base)", what is compared with it under "(new)".
 */
#include "formats/write/text.h"

struct point {
	uint64_t values[N_PROFILE_VALUES];
	uint64_t lifetimes_us;
	uint64_t most_bytes, most_blocks;
	bool is_used;
};

struct document {
	struct json j;
	const struct profile *p;
	bool has_lifetimes;
	struct arena scratch;
	struct profile_tree tree;
	uint32_t *line_of_frame; // its index in ftbl
	struct texts lines;      // ftbl, with "[root]" for the empty text
	struct point *sides[2];  // per merged node: ours, the base's
};

/** Make a text of every frame; equal texts share a line of ftbl. */
static void make_lines(struct document *d) {
	const struct profile *p = d->p;
	SCOPED(buffer) text = {0};
	for (uint32_t i = 0; i < p->frames.n; i++) { // frame 0, "[root]", is the empty text
		buffer_clear(&text);
		if (i > 0) {
			buffer_printf(&text, "0x%llX: ", (unsigned long long)p->frames.items[i].address);
			put_frame_place(&text, p, i);
		}
		d->line_of_frame[i] = texts_id(&d->lines, buffer_view(&text));
	}
}

static void add_sample(struct document *d, const struct profile_sample *s) {
	struct point *point = &d->sides[s->is_base][d->tree.of_node[s->node]];
	for (int v = 0; v < N_PROFILE_VALUES; v++) {
		point->values[v] += s->values[v];
		point->is_used |= s->values[v] != 0;
	}
}

struct change {
	uint32_t node, moment;
	int64_t bytes, blocks;
};

ORDER_OF(by_node_and_moment, struct change, LOWEST(node) ?: LOWEST(moment));

/** The maximum of each point over all moments, from the changes at each. */
static void find_most(struct document *d) {
	const struct profile *p = d->p;
	struct change *changes = arena_new(&d->scratch, struct change, p->lives.n * 2ul);
	uint32_t n = 0;
	EACH(l, p->lives) {
		uint32_t node = d->tree.of_node[p->samples.items[l->sample].node];
		int64_t bytes = (int64_t)l->bytes, blocks = (int64_t)l->blocks;
		if (l->from < l->until) {
			changes[n++] = (struct change){node, l->from, bytes, blocks};
			changes[n++] = (struct change){node, l->until, -bytes, -blocks};
		}
	}
	qsort(changes, n, sizeof *changes, by_node_and_moment);
	int64_t bytes = 0, blocks = 0;
	for (uint32_t i = 0; i < n; i++) {
		bytes += changes[i].bytes;
		blocks += changes[i].blocks;
		bool is_moment_done = i + 1 == n || changes[i + 1].node != changes[i].node ||
				changes[i + 1].moment != changes[i].moment;
		struct point *point = &d->sides[0][changes[i].node];
		if (is_moment_done && bytes > (int64_t)point->most_bytes) {
			point->most_bytes = (uint64_t)bytes;
			point->most_blocks = (uint64_t)blocks;
		}
	}
}

static void put_most(struct json *j, const struct point *point) {
	uint64_t at_peak = point->values[PROFILE_PEAK_BYTES],
			 at_end = point->values[PROFILE_LIVE_BYTES];
	uint64_t bytes = point->most_bytes, blocks = point->most_blocks;
	if (at_peak > bytes) {
		bytes = at_peak;
		blocks = point->values[PROFILE_PEAK_OBJECTS];
	}
	if (at_end > bytes) {
		bytes = at_end;
		blocks = point->values[PROFILE_LIVE_OBJECTS];
	}
	json_number(j, "mb", bytes);
	json_number(j, "mbk", blocks);
}

static void put_frames(struct document *d, uint32_t node, int side) {
	JSON_LIST(&d->j, "fs");
	if (node == 0 && !d->p->is_diff) {
		json_number(&d->j, NULL, d->lines.n);
	}
	for (; node; node = d->tree.nodes[node].parent) {
		json_number(&d->j, NULL, d->tree.nodes[node].frame);
	}
	if (d->p->is_diff) {
		json_number(&d->j, NULL, d->lines.n + (uint32_t)side);
	}
}

static void put_point(struct document *d, uint32_t node, int side) {
	const struct point *point = &d->sides[side][node];
	struct json *j = &d->j;
	JSON_OBJECT(j, NULL);
	json_number(j, "tb", point->values[PROFILE_ALLOC_BYTES]);
	json_number(j, "tbk", point->values[PROFILE_ALLOC_OBJECTS]);
	if (d->has_lifetimes) {
		json_number(j, "tl", point->lifetimes_us);
		put_most(j, point);
		json_number(j, "gb", point->values[PROFILE_PEAK_BYTES]);
		json_number(j, "gbk", point->values[PROFILE_PEAK_OBJECTS]);
		json_number(j, "eb", point->values[PROFILE_LIVE_BYTES]);
		json_number(j, "ebk", point->values[PROFILE_LIVE_OBJECTS]);
	}
	put_frames(d, node, side);
}

static void put_head(struct document *d) {
	const struct profile *p = d->p;
	struct json *j = &d->j;
	json_number(j, "dhatFileVersion", 2);
	json_text(j, "mode", "heap");
	json_text(j, "verb", "Allocated");
	json_bool(j, "bklt", d->has_lifetimes);
	json_bool(j, "bkacc", false);
	json_text(j, "tu", "µs");
	json_text(j, "Mtu", "s");
	if (d->has_lifetimes) {
		json_number(j, "tuth", 500);
		json_number(j, "tg", p->peak_time_ns / 1000);
	}
	json_string(j, "cmd", profile_text(p, p->command ? p->command : p->program));
	json_number(j, "pid", p->pid);
	json_number(j, "te", p->duration_ns / 1000);
}

static void put_points(struct document *d) {
	json_open(&d->j, "pps", '[');
	for (int side = 0; side < 2; side++) {
		EACH_NUMBER(i, d->tree.n, d->sides[side][i].is_used) {
			put_point(d, i, side);
		}
	}
	json_close(&d->j);
	JSON_LIST(&d->j, "ftbl");
	json_text(&d->j, NULL, "[root]");
	for (size_t i = 1; i < d->lines.n; i++) {
		json_string(&d->j, NULL, d->lines.items[i]);
	}
	json_text(&d->j, NULL, d->p->is_diff ? "(new)" : "(no stack)");
	json_text(&d->j, NULL, "(base)");
}

static void collect(struct document *d) {
	const struct profile *p = d->p;
	d->line_of_frame = arena_new(&d->scratch, uint32_t, p->frames.n);
	make_lines(d);
	profile_gather(p, d->line_of_frame, &d->scratch, &d->tree);
	d->sides[0] = arena_new(&d->scratch, struct point, d->tree.n);
	d->sides[1] = arena_new(&d->scratch, struct point, d->tree.n);
	for (uint32_t i = 0; i < p->samples.n; i++) {
		add_sample(d, &p->samples.items[i]);
	}
	EACH(l, p->lives) {
		uint64_t ns = profile_moment_ns(p, l->until) - profile_moment_ns(p, l->from);
		uint32_t node = d->tree.of_node[p->samples.items[l->sample].node];
		d->sides[0][node].lifetimes_us += ns / 1000 * l->blocks;
	}
	find_most(d);
}

static void put_document(struct document *d) {
	JSON_DOCUMENT(&d->j);
	put_head(d);
	put_points(d);
}

/** Without all of these numbers, the file has no lifetimes (bklt false). */
static bool has_lifetimes(const struct profile *p) {
	return profile_knows(p, PROFILE_PEAK_BYTES) && profile_knows(p, PROFILE_PEAK_OBJECTS) &&
			profile_knows(p, PROFILE_LIVE_BYTES) && profile_knows(p, PROFILE_LIVE_OBJECTS);
}

bool dhat_encode(struct buffer *out, const struct profile *p, const struct write_options *options,
		struct err *err) {
	(void)options;
	if (!profile_knows(p, PROFILE_ALLOC_BYTES) || !profile_knows(p, PROFILE_ALLOC_OBJECTS)) {
		return err_unsupported(err,
				"the DHAT format needs allocation counts, which the input does not contain");
	}
	struct document d = {.j = json_init(out), .p = p, .has_lifetimes = has_lifetimes(p)};
	collect(&d);
	put_document(&d);
	texts_finish(&d.lines);
	arena_finish(&d.scratch);
	return true;
}
