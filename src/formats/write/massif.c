// SPDX-License-Identifier: MIT
/*
 * Writes massif.out, which ms_print reads: at most a hundred snapshots of the heap's size, some
 * with a tree. The tree is upside down: its root are the allocation functions, the children of a
 * place are its callers. Branches under the threshold are gathered:
 *
 *   n2: 1500 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *    n1: 1000 0x1234: make_row (app.cpp:12)
 *     n0: 1000 0x1250: main (app.cpp:50)
 *    n0: 500 in 7 places, all below massif's threshold (1.00%)
 *
 * A comparison has two snapshots, the peak of the base and ours.
 */
#include "formats/write/text.h"

enum { SNAPSHOTS = 100, DEEPEST = 500 }; // places in a tree, one below the other

struct weight {
	uint32_t node; // the place looked at now: of the stack, from its innermost frame outwards
	uint64_t bytes;
};

struct snapshots {
	struct buffer *out;
	const struct profile *p;
	const struct massif_options *options;
	struct arena scratch;
	struct weight *weights; // of the tree being written
	uint32_t n_weights;
	uint64_t *live; // per sample, of the snapshot being written
	uint32_t n;     // snapshots written
};

static uint32_t frame_at(const struct snapshots *s, const struct weight *w) {
	return s->p->nodes.items[w->node].frame;
}

/** Groups by frame: comparing two weights needs the nodes, which qsort_r hands over. */
static int by_frame(const void *a, const void *b, void *user) {
	const struct snapshots *s = user;
	return compare_u64(frame_at(s, a), frame_at(s, b));
}

struct group {
	uint32_t first, n;
	uint64_t bytes;
};

ORDER_OF(heaviest_group, struct group, HIGHEST(bytes) ?: LOWEST(first));

/** Stacks that end here come first, then the rest group by group. Gives the number of groups. */
static uint32_t make_groups(struct snapshots *s, struct weight *w, uint32_t n,
		struct group *groups) {
	uint32_t n_groups = 0;
	qsort_r(w, n, sizeof *w, by_frame, s);
	for (uint32_t i = 0; i < n; i++) {
		if (w[i].node == 0) {
			continue;
		}
		struct group *last = n_groups ? &groups[n_groups - 1] : NULL;
		if (last && frame_at(s, &w[last->first]) == frame_at(s, &w[i])) {
			last->n++;
			last->bytes += w[i].bytes;
		} else {
			groups[n_groups++] = (struct group){i, 1, w[i].bytes};
		}
	}
	qsort(groups, n_groups, sizeof *groups, heaviest_group);
	return n_groups;
}

static void indent(struct buffer *out, unsigned depth) {
	for (unsigned i = 0; i < depth; i++) {
		buffer_u8(out, ' ');
	}
}

static bool put_children(struct snapshots *s, struct weight *w, uint32_t n, uint64_t least,
		unsigned depth, uint32_t *n_children);

/** How many children there are is known only after they were written: they wait in `below`. */
static bool put_below(struct snapshots *s, struct weight *w, uint32_t n, uint64_t least,
		unsigned depth, struct buffer *below, uint32_t *n_children) {
	struct buffer *out = s->out;
	s->out = below;
	bool ok = put_children(s, w, n, least, depth, n_children);
	s->out = out;
	return ok;
}

static void put_behind(struct buffer *out, struct buffer *below) {
	buffer_slice(out, buffer_view(below));
	out->failed |= below->failed;
	buffer_finish(below);
}

static bool put_place(struct snapshots *s, struct weight *w, const struct group *g, uint64_t least,
		unsigned depth) {
	uint32_t frame = frame_at(s, &w[g->first]);
	for (uint32_t i = g->first; i < g->first + g->n; i++) {
		w[i].node = s->p->nodes.items[w[i].node].parent;
	}
	struct buffer below = {0};
	uint32_t n_children = 0;
	bool ok = depth >= DEEPEST ||
			put_below(s, w + g->first, g->n, least, depth + 1, &below, &n_children);
	indent(s->out, depth);
	buffer_printf(s->out, "n%u: %" PRIu64 " 0x%" PRIX64 ": ", n_children, g->bytes,
			s->p->frames.items[frame].address);
	put_frame_place(s->out, s->p, frame);
	buffer_u8(s->out, '\n');
	put_behind(s->out, &below);
	return ok;
}

static bool put_children(struct snapshots *s, struct weight *w, uint32_t n, uint64_t least,
		unsigned depth, uint32_t *n_children) {
	FREED struct group *groups = malloc(sizeof *groups * (n + 1ul));
	if (!groups) {
		return false;
	}
	uint32_t n_groups = make_groups(s, w, n, groups);
	uint32_t n_large = 0;
	while (n_large < n_groups && groups[n_large].bytes >= least) {
		n_large++;
	}
	bool ok = ALL(i, n_large, put_place(s, w, &groups[i], least, depth));
	uint64_t rest = SUM(i, n_groups - n_large, groups[n_large + i].bytes);
	if (n_large < n_groups) {
		indent(s->out, depth);
		unsigned percent = (unsigned)(s->options->threshold_percent * 100 + 0.5);
		buffer_printf(s->out,
				"n0: %" PRIu64 " in %u place%s below massif's threshold (%u.%02u%%)\n", rest,
				n_groups - n_large, n_groups - n_large == 1 ? "," : "s, all", percent / 100,
				percent % 100);
	}
	*n_children = n_large + (n_large < n_groups);
	return ok;
}

static bool put_tree(struct snapshots *s, uint64_t total) {
	s->n_weights = 0;
	for (uint32_t i = 0; i < s->p->samples.n; i++) {
		if (s->live[i]) {
			s->weights[s->n_weights++] = (struct weight){s->p->samples.items[i].node, s->live[i]};
		}
	}
	struct buffer below = {0};
	uint32_t n_children = 0;
	uint64_t least = (uint64_t)((double)total * s->options->threshold_percent / 100);
	bool ok = put_below(s, s->weights, s->n_weights, least ? least : 1, 1, &below, &n_children);
	buffer_printf(s->out, "n%u: %" PRIu64 " %s, --alloc-fns, etc.\n", n_children, total,
			s->options->is_of_pages ? "(page allocation syscalls) mmap/mremap/brk"
									: "(heap allocation functions) malloc/new/new[]");
	put_behind(s->out, &below);
	return ok;
}

static bool put_snapshot(struct snapshots *s, uint64_t time_ns, uint64_t bytes, const char *tree) {
	static const char line[] = "#-----------\n";
	buffer_printf(s->out,
			"%ssnapshot=%u\n%stime=%" PRIu64 "\nmem_heap_B=%" PRIu64
			"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
			line, s->n++, line, time_ns / 1000000, bytes, tree);
	return strcmp(tree, "empty") == 0 || put_tree(s, bytes);
}

static void take_values(struct snapshots *s, enum profile_value value, bool of_base) {
	for (uint32_t i = 0; i < s->p->samples.n; i++) {
		const struct profile_sample *sample = &s->p->samples.items[i];
		s->live[i] = sample->is_base == of_base ? sample->values[value] : 0;
	}
}

/** What lived at a moment. */
static void take_moment(struct snapshots *s, uint32_t moment) {
	memset(s->live, 0, s->p->samples.n * sizeof *s->live);
	EACH(l, s->p->lives) {
		if (l->from <= moment && moment < l->until) {
			s->live[l->sample] += l->bytes;
		}
	}
}

static uint32_t peak_moment(const struct profile *p) {
	uint32_t peak = 0;
	for (uint32_t i = 1; i < p->moments.n; i++) {
		if (p->moments.items[i].bytes > p->moments.items[peak].bytes) {
			peak = i;
		}
	}
	return peak;
}

static bool put_peak(struct snapshots *s, uint64_t time_ns) {
	take_values(s, PROFILE_PEAK_BYTES, false);
	return put_snapshot(s, time_ns, profile_total(s->p, PROFILE_PEAK_BYTES, false), "peak");
}

/** The end is no moment: what was never freed is known apart. */
static bool put_end(struct snapshots *s) {
	if (!profile_knows(s->p, PROFILE_LIVE_BYTES)) {
		return true;
	}
	take_values(s, PROFILE_LIVE_BYTES, false);
	uint64_t bytes = profile_total(s->p, PROFILE_LIVE_BYTES, false);
	bool is_peak = !profile_knows(s->p, PROFILE_PEAK_BYTES);
	return put_snapshot(s, s->p->duration_ns, bytes,
			is_peak                              ? "peak"
					: s->options->detailed_every ? "detailed"
												 : "empty");
}

static bool put_moment(struct snapshots *s, uint32_t moment) {
	const struct profile_moment *m = &s->p->moments.items[moment];
	uint32_t every = s->options->detailed_every;
	bool is_detailed = every && s->p->lives.n && s->n % every == every - 1;
	if (is_detailed) {
		take_moment(s, moment);
	}
	return put_snapshot(s, m->time_ns, m->bytes, is_detailed ? "detailed" : "empty");
}

/** Evenly chosen moments, the peak among them, and the end. */
static bool put_snapshots(struct snapshots *s) {
	const struct profile *p = s->p;
	uint32_t most = SNAPSHOTS - 2; // but the peak and the end
	uint32_t n = p->moments.n < most ? p->moments.n : most;
	bool has_peak = profile_knows(p, PROFILE_PEAK_BYTES);
	uint32_t peak = peak_moment(p);
	bool ok = true;
	for (uint32_t i = 0; ok && i < n; i++) {
		uint32_t moment = (uint32_t)((uint64_t)i * p->moments.n / n);
		uint32_t next = (uint32_t)((uint64_t)(i + 1) * p->moments.n / n);
		if (!has_peak || moment != peak) {
			ok = put_moment(s, moment);
		}
		if (ok && has_peak && moment <= peak && peak < next) {
			ok = put_peak(s, p->moments.items[peak].time_ns);
		}
	}
	if (ok && has_peak && n == 0) {
		ok = put_peak(s, p->peak_time_ns);
	}
	return ok && put_end(s);
}

static bool put_comparison(struct snapshots *s) {
	take_values(s, PROFILE_PEAK_BYTES, true);
	return put_snapshot(s, 0, profile_total(s->p, PROFILE_PEAK_BYTES, true), "detailed") &&
			put_peak(s, 1000000);
}

bool massif_encode(struct buffer *out, const struct profile *p, const struct write_options *options,
		struct err *err) {
	if (!profile_knows(p, PROFILE_PEAK_BYTES) &&
			(p->is_diff || !profile_knows(p, PROFILE_LIVE_BYTES))) {
		return err_set(err, ERR_UNSUPPORTED,
				"the massif format needs the heap's size, which the input does not contain");
	}
	struct snapshots s = {.out = out, .p = p, .options = &options->massif};
	s.weights = arena_new(&s.scratch, struct weight, p->samples.n);
	s.live = arena_new(&s.scratch, uint64_t, p->samples.n);
	buffer_text(out, "desc: heaptrack\ncmd: ");
	put_plain(out, profile_text(p, p->command ? p->command : p->program), "");
	buffer_text(out, "\ntime_unit: ms\n");
	bool ok = s.weights && s.live && (p->is_diff ? put_comparison(&s) : put_snapshots(&s));
	arena_finish(&s.scratch);
	return (ok && !out->failed) || err_memory(err);
}
