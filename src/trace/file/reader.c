// SPDX-License-Identifier: MIT
/*
 * Finds the newest state in a file that can be read, and decodes it.
 *
 * A file offers states: the state block of a finished file, else the slots of a growing one. They
 * are tried from the newest on; the first whose log is there, that decodes and that is valid, wins.
 * While a file grows, slots are written under the reader's eyes: if none was whole, look again.
 */
#include "trace/file/scan.h"
#include "trace/recording/sampled.h"
#include "trace/tables/payload.h"

#include <inttypes.h>

#define DEFAULT_MAX_BYTES (16ull << 30)

enum { MAX_TRIES = 8, MAX_LOOKS = 3 };

// Where a state lies, whichever shape the file has
struct candidate {
	const char *what;
	uint64_t at; // of its frame: for messages
	uint64_t stored_at, stored_bytes, raw_bytes;
	uint64_t sequence, n_log_blocks;
};

struct candidates {
	struct candidate items[MAX_TRIES]; // the newest first
	size_t n;
};

static void add_candidate(struct candidates *list, struct candidate c) {
	size_t i = list->n;
	while (i > 0 && list->items[i - 1].sequence < c.sequence) {
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
	EACH(b, s->states) {
		add_candidate(&list,
				(struct candidate){"state", b->at, b->stored_at, b->header.stored_bytes,
						b->header.raw_bytes, b->header.sequence, s->log.n});
	}
	if (list.n) {
		return list;
	}
	EACH(slot, s->slots) {
		const struct frame_slot *h = &slot->header;
		add_candidate(&list,
				(struct candidate){"checkpoint", slot->at, slot->stored_at, h->stored_bytes,
						h->raw_bytes, h->sequence, h->n_log_blocks});
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

static bool load_log(struct load *l, const struct candidate *c, struct recording *out,
		struct err *err) {
	const struct scan_blocks *log = &l->scan->log;
	if (c->n_log_blocks > log->n) {
		return err_set(err, ERR_FORMAT, "needs %" PRIu64 " blocks of the log, %zu are there",
				c->n_log_blocks, log->n);
	}
	uint64_t log_bytes = 0;
	for (size_t i = 0; i < c->n_log_blocks; i++) {
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
	for (size_t i = 0; i < c->n_log_blocks; i++) {
		const struct scan_block *b = &log->items[i];
		if (b->header.sequence != i + 1) {
			return err_set(err, ERR_FORMAT, "log block %zu is missing", i + 1);
		}
		bool ok = scan_unpack(&l->piece, l->src, b->stored_at, b->header.stored_bytes,
				b->header.raw_bytes, left_bytes(l, out), err);
		if (!ok || !log_decode(&reader, buffer_view(&l->piece), err)) {
			return err_add(err, "log block %zu at byte %" PRIu64, i + 1, b->at);
		}
	}
	return log_reader_is_done(&reader, err);
}

static bool load_candidate(struct load *l, const struct candidate *c, struct recording *out,
		struct err *err) {
	out->arena.max_bytes = l->max_bytes;
	arena_finish(&l->memory);
	bool ok = scan_unpack_in(&l->memory, &l->state, l->src, c->stored_at, c->stored_bytes,
			c->raw_bytes, l->max_bytes, err);
	if (ok && load_log(l, c, out, err)) {
		uint64_t left = left_bytes(l, out) + out->arena.bytes;
		out->arena.max_bytes = left ? left : 1;
		if (state_decode(out, l->state, err) &&
				(out->meta.rate_log2 == 0 || sampled_to_whole(out) || err_memory(err)) &&
				recording_is_valid(out, err)) {
			return true;
		}
	}
	recording_finish(out);
	return err_add(err, "%s %" PRIu64 " at byte %" PRIu64, c->what, c->sequence, c->at);
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
		if (load_candidate(l, &list.items[i], out, &why)) {
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
		struct scan scan;
		if (!scan_file(&scan, src, l.max_bytes, err)) {
			break;
		}
		l.scan = &scan;
		ok = load_best(&l, out, err);
		if (ok && facts) {
			tell_facts(facts, &scan);
		}
		may_change = scan.head.finished_bytes == 0 && scan.slots.n > 0;
		scan_finish(&scan);
	}
	arena_finish(&l.memory);
	buffer_finish(&l.piece);
	return ok;
}
