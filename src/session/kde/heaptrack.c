// SPDX-License-Identifier: MIT
/* Reads a file of KDE's heaptrack: records of code go to code.c, those of events to events.c. */
#include "session/kde/parts.h"

static bool take_text(struct kde_import *k, struct slice text, struct slice *out, struct err *err) {
	char *copy = arena_text(&k->out->arena, text);
	*out = slice_of(copy, copy ? text.size : 0);
	return copy || err_memory(err);
}

static bool take_record(void *user, const struct heaptrack_record *r, struct err *err) {
	struct kde_import *k = user;
	switch (r->kind) {
	case '+':
	case '-':
	case 'c':
	case 'a':
	case 'R':
	case 'A': return kde_event(k, r, err);
	case 'm':
	case 's':
	case 'i':
	case 't': return kde_code(k, r, err);
	case 'X': return take_text(k, r->text, &k->command, err);
	case 'x': k->is_raw = true; return take_text(k, r->text, &k->exe, err);
	case 'S': // a line from __lsan_default_suppressions()
		buffer_slice(k->import->suppressions, r->text);
		buffer_u8(k->import->suppressions, '\n');
		return true;
	case 'I':
		if (!r->is_bad) {
			k->out->meta.page_bytes = (uint32_t)r->numbers[0];
			k->out->meta.system_memory_bytes = r->numbers[0] * r->numbers[1];
		}
		return true;
	default: return true;
	}
}

static bool read_all(struct kde_import *k, struct err *err) {
	struct unpack *in = k->import->in;
	k->reader.events = kde_events;
	for (struct slice bytes;;) {
		if (!unpack_next(in, &bytes, err)) {
			return false;
		}
		if (bytes.size == 0) {
			feed_drain(&k->feed);
			return true;
		}
		if (!heaptrack_read(&k->reader, bytes, take_record, k, err)) {
			return false;
		}
	}
}

/** What the recording says of itself. Malformed lines count as lost events. */
static void put_meta(struct kde_import *k) {
	struct rec_meta *m = &k->out->meta;
	bool is_torn = unpack_is_torn(k->import->in) || k->reader.rest.size > 0;
	m->source = REC_FROM_KDE;
	m->ended = is_torn ? REC_STILL_RUNNING : REC_EXITED;
	m->is_complete = !is_torn;
	m->duration_ns = (k->time_ms + 1) * 1000000;
	m->written_ns = m->duration_ns;
	k->out->summary.peak_rss_bytes = k->peak_rss_bytes;
	k->out->summary.peak_rss_time_ns = k->peak_rss_ms * 1000000;
	k->out->quality.lost_events = k->reader.n_bad;
}

static void finish(struct kde_import *k) {
	heaptrack_reader_finish(&k->reader);
	feed_finish(&k->feed);
	CALL_FOR(index_finish, k, location_index, info_index);
	CALL_FOR(vec_finish, k, strings, modules, locations, frames, nodes, samples, module_of_string,
			ranges, infos, next_block);
	free(k);
}

bool import_heaptrack(struct import *import, struct err *err) {
	struct kde_import *k = memory_new(1, sizeof *k);
	k->import = import;
	k->out = import->out;
	feed_init(&k->feed, kde_aggregate());
	CALL_FOR(vec_push, k, strings, modules, locations, nodes, next_block); // row 0 is "none"
	bool ok = read_all(k, err) && kde_put_code(k, err);
	if (ok) {
		k->out->arena.max_bytes = 0; // the limit was for what the file asks for
		aggregate_until(k->feed.aggregate, k->time_ms * 1000000);
		aggregate_snapshot(k->feed.aggregate, k->time_ms * 1000000, k->out);
		put_meta(k);
		if (k->is_raw) {
			resolve_names(k->out, import->options->symbols);
		}
	} else if (k->reader.n_lines) {
		(void)err_add(err, "line %llu", (unsigned long long)k->reader.n_lines);
	}
	finish(k);
	return ok;
}
