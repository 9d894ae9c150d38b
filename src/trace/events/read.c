// SPDX-License-Identifier: MIT
/* Reads a file's events by block: first all infos, then blocks by sequence, each independently. */
#include "trace/events/events.h"
#include "trace/file/scan.h"

enum { BLOCK_MAX_BYTES = 1 << 30 };

struct reading {
	const struct trace_source *src;
	const struct recording *r; // may be NULL
	trace_each_events *each;
	void *user;
	bool is_finished;
	bool has_wrong_node;
	struct buffer raw;
	struct info_table infos;
};

// Nodes missing in the recording are too new in a growing file, and damage in a finished one
static bool check_nodes(void *user, const struct trace_event *events, size_t n) {
	struct reading *reading = user;
	const struct recording *r = reading->r;
	struct trace_event checked[EVENTS_BATCH];
	for (size_t i = 0; i < n; i++) {
		checked[i] = events[i];
		if (events[i].node >= r->nodes.n) {
			checked[i].node = 0;
			reading->has_wrong_node = true;
		}
	}
	return !(reading->has_wrong_node && reading->is_finished) &&
			reading->each(reading->user, checked, n);
}

// A finished file has all its blocks; a copy of a growing one may lack some
static bool is_whole(const struct scan *scan, struct err *err) {
	uint64_t finished_bytes = scan->head.finished_bytes;
	return !finished_bytes || (scan->end == finished_bytes && !scan->damaged_bytes) ||
			err_format(err,
					"the file is damaged or cut: %" PRIu64 " of %" PRIu64 " bytes are whole",
					scan->end - scan->damaged_bytes, finished_bytes);
}

static bool read_infos(struct reading *reading, const struct scan *scan, struct err *err) {
	EACH_THAT(b, scan->infos,
			!scan_unpack(&reading->raw, reading->src, b, BLOCK_MAX_BYTES, err) ||
					!infos_decode(&reading->infos, buffer_view(&reading->raw), err)) {
		return err_add(err, "infos block at byte %" PRIu64, b->at);
	}
	return true;
}

static bool read_block(struct reading *reading, const struct scan_block *b, bool *is_stopped,
		struct err *err) {
	trace_each_events *each = reading->r ? check_nodes : reading->each;
	void *user = reading->r ? reading : reading->user;
	return scan_unpack(&reading->raw, reading->src, b, BLOCK_MAX_BYTES, err) &&
			events_decode(buffer_view(&reading->raw), &reading->infos, each, user, is_stopped,
					err) &&
			(!reading->has_wrong_node || !reading->is_finished ||
					err_format(err, "events of nodes that the recording lacks"));
}

static bool read_blocks(struct reading *reading, struct scan *scan, struct err *err) {
	scan_sort(&scan->events);
	bool is_stopped = false;
	for (size_t i = 0; i < scan->events.n && !is_stopped; i++) {
		const struct scan_block *b = &scan->events.items[i];
		if (reading->is_finished && i && b->header.sequence != b[-1].header.sequence + 1) {
			return err_format(err, "events block %" PRIu64 " is missing",
					b[-1].header.sequence + 1);
		}
		if (!read_block(reading, b, &is_stopped, err)) {
			return err_add(err, "events block %" PRIu64 " at byte %" PRIu64, b->header.sequence,
					b->at);
		}
	}
	return true;
}

bool trace_read_events(const struct trace_source *src, const struct recording *r,
		trace_each_events *each, void *user, struct err *err) {
	struct reading reading = {.src = src, .r = r, .each = each, .user = user};
	SCOPED(scan) scan;
	if (!scan_file(&scan, src, BLOCK_MAX_BYTES, err)) {
		return false;
	}
	reading.is_finished = scan.head.finished_bytes != 0;
	bool ok = is_whole(&scan, err) && read_infos(&reading, &scan, err) &&
			read_blocks(&reading, &scan, err);
	buffer_finish(&reading.raw);
	vec_finish(&reading.infos);
	return ok;
}
