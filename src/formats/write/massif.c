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

enum { SNAPSHOTS = 100, DEEPEST = 500 }; // depth of a tree

struct weight {
	uint32_t node; // the current place on the stack, from its innermost frame outwards
	uint64_t bytes;
};

struct snapshots {
	struct buffer *out;
	const struct profile *p;
	const struct massif_options *options;
	struct arena scratch;
	struct weight *weights; // of the current tree
	uint64_t least;         // bytes from which a place is not merged
	uint64_t *live;         // per sample, in the current snapshot
	uint32_t n;             // snapshots written
};

static uint32_t frame_at(const struct snapshots *s, const struct weight *w) {
	return s->p->nodes.items[w->node].frame;
}

/** Comparing two weights needs the nodes, which qsort_r passes on. */
static int by_frame(const void *a, const void *b, void *user) {
	const struct snapshots *s = user;
	return compare_u64(frame_at(s, a), frame_at(s, b));
}

struct group {
	uint32_t first, n;
	uint64_t bytes;
};

ORDER_OF(heaviest_group, struct group, HIGHEST(bytes) ?: LOWEST(first));

/** Sort stacks that end here first, the rest by group. Returns the number of groups. */
static uint32_t make_groups(struct snapshots *s, struct weight *w, uint32_t n,
		struct group *groups) {
	uint32_t n_groups = 0;
	qsort_r(w, n, sizeof *w, by_frame, s);
	EACH_NUMBER(i, n, w[i].node != 0) {
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

/** Write a place and its callers, for stacks followed to it. `root`: its text. */
static void put_place(struct snapshots *s, struct weight *w, uint32_t n, uint64_t bytes,
		unsigned depth, const char *root) {
	FREED struct group *groups = memory_new(n, sizeof *groups);
	uint32_t frame = root ? 0 : frame_at(s, w);
	for (uint32_t i = 0; i < n && !root; i++) {
		w[i].node = s->p->nodes.items[w[i].node].parent;
	}
	uint32_t n_groups = depth < DEEPEST ? make_groups(s, w, n, groups) : 0, n_large = 0;
	while (n_large < n_groups && groups[n_large].bytes >= s->least) {
		n_large++;
	}
	bool has_small = n_large < n_groups;
	buffer_printf(s->out, "%*sn%u: %" PRIu64 " ", (int)depth, "", n_large + has_small, bytes);
	if (root) {
		buffer_text(s->out, root);
	} else {
		buffer_printf(s->out, "0x%" PRIX64 ": ", s->p->frames.items[frame].address);
		put_frame_place(s->out, s->p, frame);
	}
	buffer_u8(s->out, '\n');
	for (uint32_t i = 0; i < n_large; i++) {
		put_place(s, w + groups[i].first, groups[i].n, groups[i].bytes, depth + 1, NULL);
	}
	if (has_small) {
		uint64_t rest = SUM(i, n_groups - n_large, groups[n_large + i].bytes);
		unsigned percent = (unsigned)(s->options->threshold_percent * 100 + 0.5);
		buffer_printf(s->out,
				"%*sn0: %" PRIu64 " in %u place%s below massif's threshold (%u.%02u%%)\n",
				(int)depth + 1, "", rest, n_groups - n_large,
				n_groups - n_large == 1 ? "," : "s, all", percent / 100, percent % 100);
	}
}

static void put_tree(struct snapshots *s, uint64_t total) {
	uint32_t n = 0;
	EACH_NUMBER(i, s->p->samples.n, s->live[i]) {
		s->weights[n++] = (struct weight){s->p->samples.items[i].node, s->live[i]};
	}
	s->least = (uint64_t)((double)total * s->options->threshold_percent / 100);
	RAISE_TO(s->least, 1);
	put_place(s, s->weights, n, total, 0,
			s->options->is_of_pages
					? "(page allocation syscalls) mmap/mremap/brk, --alloc-fns, etc."
					: "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
}

static void put_snapshot(struct snapshots *s, uint64_t time_ns, uint64_t bytes, const char *tree) {
	static const char line[] = "#-----------\n";
	buffer_printf(s->out,
			"%ssnapshot=%u\n%stime=%" PRIu64 "\nmem_heap_B=%" PRIu64
			"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
			line, s->n++, line, time_ns / 1000000, bytes, tree);
	if (strcmp(tree, "empty") != 0) {
		put_tree(s, bytes);
	}
}

static void take_values(struct snapshots *s, enum profile_value value, bool of_base) {
	for (uint32_t i = 0; i < s->p->samples.n; i++) {
		const struct profile_sample *sample = &s->p->samples.items[i];
		s->live[i] = sample->is_base == of_base ? sample->values[value] : 0;
	}
}

/** Set `live` to what was live at a moment. */
static void take_moment(struct snapshots *s, uint32_t moment) {
	memset(s->live, 0, s->p->samples.n * sizeof *s->live);
	EACH_THAT(l, s->p->lives, l->from <= moment && moment < l->until) {
		s->live[l->sample] += l->bytes;
	}
}

static void put_peak(struct snapshots *s, uint64_t time_ns) {
	take_values(s, PROFILE_PEAK_BYTES, false);
	put_snapshot(s, time_ns, profile_total(s->p, PROFILE_PEAK_BYTES, false), "peak");
}

/** The end is not among the moments: never freed blocks are known separately. */
static void put_end(struct snapshots *s) {
	if (!profile_knows(s->p, PROFILE_LIVE_BYTES)) {
		return;
	}
	take_values(s, PROFILE_LIVE_BYTES, false);
	uint64_t bytes = profile_total(s->p, PROFILE_LIVE_BYTES, false);
	bool is_peak = !profile_knows(s->p, PROFILE_PEAK_BYTES);
	put_snapshot(s, s->p->duration_ns, bytes,
			is_peak                              ? "peak"
					: s->options->detailed_every ? "detailed"
												 : "empty");
}

static void put_moment(struct snapshots *s, uint32_t moment) {
	const struct profile_moment *m = &s->p->moments.items[moment];
	uint32_t every = s->options->detailed_every;
	bool is_detailed = every && s->p->lives.n && s->n % every == every - 1;
	if (is_detailed) {
		take_moment(s, moment);
	}
	put_snapshot(s, m->time_ns, m->bytes, is_detailed ? "detailed" : "empty");
}

/** Evenly chosen moments, including the peak, and the end. */
static void put_snapshots(struct snapshots *s) {
	const struct profile *p = s->p;
	uint32_t most = SNAPSHOTS - 2; // without the peak and the end
	uint32_t n = p->moments.n < most ? p->moments.n : most;
	bool has_peak = profile_knows(p, PROFILE_PEAK_BYTES);
	const struct profile_moment *largest = MOST(m, p->moments, m->bytes);
	uint32_t peak = largest ? (uint32_t)(largest - p->moments.items) : 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t moment = (uint32_t)((uint64_t)i * p->moments.n / n);
		uint32_t next = (uint32_t)((uint64_t)(i + 1) * p->moments.n / n);
		if (!has_peak || moment != peak) {
			put_moment(s, moment);
		}
		if (has_peak && moment <= peak && peak < next) {
			put_peak(s, p->moments.items[peak].time_ns);
		}
	}
	if (has_peak && n == 0) {
		put_peak(s, p->peak_time_ns);
	}
	put_end(s);
}

static void put_comparison(struct snapshots *s) {
	take_values(s, PROFILE_PEAK_BYTES, true);
	put_snapshot(s, 0, profile_total(s->p, PROFILE_PEAK_BYTES, true), "detailed");
	put_peak(s, 1000000);
}

bool massif_encode(struct buffer *out, const struct profile *p, const struct write_options *options,
		struct err *err) {
	if (!profile_knows(p, PROFILE_PEAK_BYTES) &&
			(p->is_diff || !profile_knows(p, PROFILE_LIVE_BYTES))) {
		return err_unsupported(err,
				"the massif format needs the heap's size, which the input does not contain");
	}
	struct snapshots s = {.out = out, .p = p, .options = &options->massif};
	s.weights = arena_new(&s.scratch, struct weight, p->samples.n);
	s.live = arena_new(&s.scratch, uint64_t, p->samples.n);
	buffer_text(out, "desc: heaptrack\ncmd: ");
	put_plain(out, profile_text(p, p->command ? p->command : p->program), "");
	buffer_text(out, "\ntime_unit: ms\n");
	(p->is_diff ? put_comparison : put_snapshots)(&s);
	arena_finish(&s.scratch);
	return true;
}
