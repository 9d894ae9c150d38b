// SPDX-License-Identifier: MIT
/*
 * Finds the newest state in a file that can be read, and decodes it.
 *
 * A file offers states: the state block of a finished file, else the slots of a growing one. They
 * are tried from the newest on; the first whose log is there, that decodes and that is valid, wins.
 * While a file grows, slots are written under the reader's eyes: if none was whole, look again.
 */
#include "trace/file/scan.h"

// ---- sampled recordings: docs/trace-format.md, "What reader 2 knows"

/*
 * Each block of a sampled recording stands for a number of blocks that is seldom whole. Counts lose
 * their fraction, row by row; bytes are whole in the file. What sums them up is made anew of the
 * rows, so that it agrees with them. The allocations of a stack are rounded up, all else down, so
 * that no part is more than its whole.
 */

enum { PARTS = 16 };

static void round_stacks(struct recording *r) {
	struct rec_summary *t = &r->summary;
	t->allocations = t->temporary = t->short_lived = t->reallocs = 0;
	t->peak_blocks = t->live_blocks = 0;
	EACH(s, r->stacks) {
		s->allocations = s->allocations / PARTS + (s->allocations % PARTS != 0);
		t->allocations += s->allocations;
		t->temporary += s->temporary /= PARTS;
		t->short_lived += s->short_lived /= PARTS;
		t->reallocs += s->reallocs /= PARTS;
		t->peak_blocks += s->peak_blocks /= PARTS;
		t->live_blocks += s->live_blocks /= PARTS;
	}
	uint64_t ended = t->allocations - t->live_blocks;
	t->gone_at_exec = t->gone_at_exec < ended ? t->gone_at_exec : ended;
	t->frees = ended - t->gone_at_exec;
	for (uint32_t i = 0; i < r->lifetimes.n; i++) {
		for (int k = 0; k < REC_LIFETIMES; k++) {
			r->lifetimes.items[i].blocks[k] /= PARTS;
		}
	}
}

/** False: no memory. */
static bool round_intervals(struct recording *r) {
	// What begins and ends at each edge; numbers that make no sense are found later
	enum { PLACES = REC_NEVER + 1 };
	FREED uint64_t *change = r->intervals.n ? calloc(PLACES, sizeof *change) : NULL;
	if (!change) {
		return r->intervals.n == 0;
	}
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		struct rec_interval v = recording_interval(r, i);
		v.count /= PARTS;
		v.temporary /= PARTS;
		change[v.from] += v.count;
		change[v.until] -= v.count;
		if (!recording_set_interval(r, i, &v)) {
			return false;
		}
	}
	uint64_t live = 0;
	for (uint32_t i = 0; i < r->edges.n && i < PLACES; i++) {
		live += change[i];
		r->edges.items[i].blocks = live;
	}
	return true;
}

/** What was counted so far is not more than there is in the end. */
static void bound_edges(const struct recording *r, struct rec_edge *edges, uint32_t n) {
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t most = r->summary.allocations, short_most = r->summary.temporary;
		edges[i].allocations = edges[i].allocations < most ? edges[i].allocations : most;
		edges[i].temporary = edges[i].temporary < short_most ? edges[i].temporary : short_most;
	}
}

/**
 * From a file's sixteenths of blocks to whole ones, in all tables that agree with each other. Needs
 * no valid recording. False: no memory.
 */
static bool sampled_to_whole(struct recording *r) {
	round_stacks(r);
	bound_edges(r, r->edges.items, r->edges.n);
	bound_edges(r, r->curve.items, r->curve.n);
	for (uint32_t i = 0; i < r->sizes.n; i++) {
		r->sizes.items[i].count /= PARTS;
		r->sizes.items[i].live /= PARTS;
	}
	EACH(t, r->threads) {
		t->allocations /= PARTS;
		t->frees /= PARTS;
		t->temporary /= PARTS;
		t->foreign_frees /= PARTS;
	}
	return round_intervals(r);
}

// ---- the newest state

#define DEFAULT_MAX_BYTES (16ull << 30)

enum { MAX_TRIES = 8, MAX_LOOKS = 3 };

struct candidates {
	const struct scan_block *items[MAX_TRIES]; // the newest first
	size_t n;
};

static void add_candidate(struct candidates *list, const struct scan_block *c) {
	size_t i = list->n;
	while (i > 0 && list->items[i - 1]->header.sequence < c->header.sequence) {
		i--;
	}
	if (i == MAX_TRIES) {
		return;
	}
	size_t kept = list->n < MAX_TRIES ? list->n : MAX_TRIES - 1;
	memmove(&list->items[i + 1], &list->items[i], (kept - i) * sizeof c);
	list->items[i] = c;
	list->n = kept + 1;
}

static struct candidates find_candidates(const struct scan *s) {
	struct candidates list = {.n = 0};
	const struct scan_blocks *states = s->states.n ? &s->states : &s->slots;
	EACH(b, *states) {
		add_candidate(&list, b);
	}
	return list;
}

// ---- one candidate

struct load {
	const struct trace_source *src;
	const struct scan *scan;
	uint64_t max_bytes;
	struct arena memory;
	struct slice state; // unpacked, in it
	struct buffer piece;
};

// What may still be taken, on top of what the recording and the state hold already
static uint64_t left_bytes(const struct load *l, const struct recording *r) {
	uint64_t used = r->arena.bytes + l->memory.bytes;
	return used < l->max_bytes ? l->max_bytes - used : 0;
}

static bool load_log(struct load *l, const struct scan_block *c, struct recording *out,
		struct err *err) {
	const struct scan_blocks *log = &l->scan->log;
	const uint64_t n_blocks = l->scan->states.n ? log->n : c->header.n_log_blocks;
	if (n_blocks > log->n) {
		return err_set(err, ERR_FORMAT, "needs %" PRIu64 " blocks of the log, %zu are there",
				n_blocks, log->n);
	}
	uint64_t log_bytes = 0;
	for (size_t i = 0; i < n_blocks; i++) {
		if (__builtin_add_overflow(log_bytes, log->items[i].header.raw_bytes, &log_bytes)) {
			return err_set(err, ERR_FORMAT, "the log is too large");
		}
	}
	struct counts_row want;
	struct log_reader reader;
	if (!state_counts(&want, l->state, err) ||
			!log_reader_init(&reader, out, want, log_bytes, err)) {
		return false;
	}
	for (size_t i = 0; i < n_blocks; i++) {
		const struct scan_block *b = &log->items[i];
		if (b->header.sequence != i + 1) {
			return err_set(err, ERR_FORMAT, "log block %zu is missing", i + 1);
		}
		if (!scan_unpack(&l->piece, l->src, b, left_bytes(l, out), err) ||
				!log_decode(&reader, buffer_view(&l->piece), err)) {
			return err_add(err, "log block %zu at byte %" PRIu64, i + 1, b->at);
		}
	}
	return log_reader_is_done(&reader, err);
}

static bool load_candidate(struct load *l, const struct scan_block *c, struct recording *out,
		struct err *err) {
	out->arena.max_bytes = l->max_bytes;
	arena_finish(&l->memory);
	if (scan_unpack_in(&l->memory, &l->state, l->src, c, l->max_bytes, err) &&
			load_log(l, c, out, err)) {
		uint64_t left = left_bytes(l, out) + out->arena.bytes;
		out->arena.max_bytes = left ? left : 1;
		if (state_decode(out, l->state, err) &&
				(out->meta.rate_log2 == 0 || sampled_to_whole(out) || err_memory(err)) &&
				recording_is_valid(out, err)) {
			return true;
		}
	}
	recording_finish(out);
	return err_add(err, "%s %" PRIu64 " at byte %" PRIu64,
			l->scan->states.n ? "state" : "checkpoint", c->header.sequence, c->at);
}

// ---- the file

static bool explain_nothing(const struct scan *s, const struct trace_source *src, struct err *err) {
	if (s->head.finished_bytes > s->end) {
		return err_set(err, ERR_FORMAT,
				"the file is cut short: %" PRIu64 " of %" PRIu64 " bytes are whole; copy it again",
				s->end < src->size ? s->end : src->size, s->head.finished_bytes);
	}
	return err_set(err, ERR_FORMAT,
			"it holds no whole checkpoint: "
			"the recording ended before its first, or the file is cut");
}

static bool load_best(struct load *l, struct recording *out, struct err *err) {
	struct candidates list = find_candidates(l->scan);
	if (list.n == 0) {
		return explain_nothing(l->scan, l->src, err);
	}
	struct err first = {0};
	for (size_t i = 0; i < list.n; i++) {
		struct err why = {0};
		if (load_candidate(l, list.items[i], out, &why)) {
			return true;
		}
		first = i == 0 ? why : first;
		if (why.code != ERR_FORMAT) {
			break; // no fault of the file: an older state is no answer to it
		}
	}
	return err_set(err, first.code, "%s", first.text);
}

static void tell_facts(struct trace_facts *out, const struct scan *s) {
	*out = (struct trace_facts){
			.version = s->head.version,
			.is_finished = s->states.n > 0,
			.is_torn = s->is_torn || s->head.finished_bytes > s->end,
			.good_bytes = s->end,
			.damaged_bytes = s->damaged_bytes,
			.n_event_blocks = s->events.n,
	};
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < s->events.n; i++) {
		const struct frame_block *b = &s->events.items[i].header;
		out->n_events += b->n;
		first = b->first < first ? b->first : first;
	}
	out->first_event = s->events.n ? first : 0;
}

bool trace_read(struct recording *out, struct trace_facts *facts, const struct trace_source *src,
		uint64_t max_bytes, struct err *err) {
	struct load l = {.src = src, .max_bytes = max_bytes ? max_bytes : DEFAULT_MAX_BYTES};
	bool ok = false;
	bool may_change = true;
	for (int looks = 0; !ok && may_change && looks < MAX_LOOKS; looks++) {
		SCOPED(scan) scan;
		if (!scan_file(&scan, src, l.max_bytes, err)) {
			break;
		}
		l.scan = &scan;
		ok = load_best(&l, out, err);
		if (ok && facts) {
			tell_facts(facts, &scan);
		}
		may_change = scan.head.finished_bytes == 0 && scan.slots.n > 0;
	}
	arena_finish(&l.memory);
	buffer_finish(&l.piece);
	return ok;
}
