// SPDX-License-Identifier: MIT
/*
 * Finds the newest readable state in a file, and decodes it. A file offers states: the state block
 * of a finished file, else the slots of a growing one. They are tried from the newest on; the first
 * that decodes, is valid and whose log is there wins. While a file grows, slots change during
 * reading: if none was whole, look again.
 */
#include "trace/file/scan.h"

#define DEFAULT_MAX_BYTES (16ull << 30)

enum { MAX_TRIES = 8, MAX_LOOKS = 3 };

// ---- one candidate

struct load {
	const struct trace_source *src;
	struct scan *scan;
	uint64_t max_bytes;
	struct arena memory;
	struct slice state; // unpacked, in `memory`
	struct buffer piece;
};

// What may still be allocated, besides the recording and the state
static uint64_t left_bytes(const struct load *l, const struct recording *r) {
	uint64_t used = r->arena.bytes + l->memory.bytes;
	return used < l->max_bytes ? l->max_bytes - used : 0;
}

static bool load_log(struct load *l, const struct scan_block *c, struct recording *out,
		struct err *err) {
	const struct scan_blocks *log = &l->scan->log;
	const uint64_t n_blocks = l->scan->states.n ? log->n : c->header.n_log_blocks;
	if (n_blocks > log->n) {
		return err_format(err, "needs %" PRIu64 " blocks of the log, %zu are there", n_blocks,
				log->n);
	}
	uint64_t log_bytes = 0;
	if (ANY(i, n_blocks,
				__builtin_add_overflow(log_bytes, log->items[i].header.raw_bytes, &log_bytes))) {
		return err_format(err, "the log is too large");
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
			return err_format(err, "log block %zu is missing", i + 1);
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
		if (state_decode(out, l->state, err) && recording_is_valid(out, err)) {
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
		return err_format(err,
				"the file is cut short: %" PRIu64 " of %" PRIu64 " bytes are whole; copy it again",
				s->end < src->size ? s->end : src->size, s->head.finished_bytes);
	}
	return err_format(err,
			"it holds no whole checkpoint: "
			"the recording ended before its first, or the file is cut");
}

static bool load_best(struct load *l, struct recording *out, struct err *err) {
	struct scan_blocks *states = l->scan->states.n ? &l->scan->states : &l->scan->slots;
	if (states->n == 0) {
		return explain_nothing(l->scan, l->src, err);
	}
	scan_sort(states);
	struct err first = {0};
	for (size_t i = 0; i < states->n && i < MAX_TRIES; i++) {
		struct err why = {0};
		if (load_candidate(l, &states->items[states->n - 1 - i], out, &why)) {
			return true;
		}
		first = i == 0 ? why : first;
		if (why.code != ERR_FORMAT) {
			break; // not the file's fault, so an older state does not help
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
	EACH(b, s->events) {
		out->n_events += b->header.n;
		LOWER_TO(first, b->header.first);
	}
	out->first_event = s->events.n ? first : 0;
}

bool trace_read(struct recording *out, struct trace_facts *facts, const struct trace_source *src,
		uint64_t max_bytes, struct err *err) {
	struct load l = {.src = src, .max_bytes = max_bytes ? max_bytes : DEFAULT_MAX_BYTES};
	bool ok = false, may_change = true;
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
