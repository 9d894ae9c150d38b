// SPDX-License-Identifier: MIT
/* Decodes the columns of a block of events, batch by batch. */
#include "trace/events/events.h"

bool infos_decode(struct info_table *infos, struct slice payload, struct err *err) {
	struct cursor c = cursor_init(payload);
	struct table_raw raw;
	while (table_next(&raw, &c, err)) {
		if (raw.id != table_infos.id) {
			continue;
		}
		if (raw.first != infos->n || !table_count_is_possible(&raw) ||
				raw.n > MAX_INFOS - infos->n) {
			return err_format(err, "table infos: rows %" PRIu64 " and up do not follow %zu",
					raw.first, infos->n);
		}
		if (raw.n == 0) {
			continue;
		}
		if (!vec_reserve(infos, raw.n)) {
			return err_memory(err);
		}
		struct info_row *rows = infos->items + infos->n;
		memset(rows, 0, raw.n * sizeof *rows);
		if (!table_decode(&raw, &table_infos, rows, NULL, err)) {
			return false;
		}
		infos->n += raw.n;
	}
	return !c.failed;
}

struct decoder {
	const struct info_table *infos;
	struct cursor columns[N_EVENTS_COLUMNS + 1];
	uint64_t allocations, time_ns;
	bool has_info_steps, has_age_steps;
	struct events_last last;
	uint64_t run;
	uint32_t run_thread;
	bool is_wrong; // an impossible number; torn columns show in their cursors
};

static uint64_t take(struct decoder *d, enum events_column column) {
	struct cursor *c = &d->columns[column];
	return LIKELY(c->at != c->end && *c->at < 0x80) ? *c->at++ : cursor_varint(c);
}

static uint64_t block_ptr(uint64_t number) {
	return number << 4;
}

static uint64_t take_age(struct decoder *d) {
	if (!d->has_age_steps) {
		return take(d, EVENTS_AGE);
	}
	return d->last.age += unzigzag(take(d, EVENTS_AGE_STEP));
}

static uint64_t take_info_number(struct decoder *d) {
	if (!d->has_info_steps) {
		return take(d, EVENTS_INFO);
	}
	return d->last.info += unzigzag(take(d, EVENTS_INFO_STEP)) + 1;
}

// The block that an age refers to
static uint64_t take_aged(struct decoder *d) {
	uint64_t age = take_age(d);
	if (age > d->allocations) {
		d->is_wrong = true;
		return TRACE_UNKNOWN_PTR;
	}
	return age ? block_ptr(d->allocations + 1 - age) : TRACE_UNKNOWN_PTR;
}

static void take_info(struct decoder *d, struct trace_event *event) {
	uint64_t info = take_info_number(d);
	if (info == 0) {
		uint64_t node = take(d, EVENTS_NODE);
		event->node = (uint32_t)node;
		event->size = take(d, EVENTS_SIZE);
		d->is_wrong |= node > UINT32_MAX;
	} else if (info <= d->infos->n) {
		event->node = d->infos->items[info - 1].node;
		event->size = d->infos->items[info - 1].size;
	} else {
		d->is_wrong = true;
	}
}

static uint32_t take_thread(struct decoder *d) {
	if (d->run == 0) {
		d->run = take(d, EVENTS_RUN);
		uint64_t thread = take(d, EVENTS_RUN);
		d->is_wrong |= d->run == 0 || thread > TRACE_THREAD_MAX;
		d->run_thread = (uint32_t)thread;
	}
	d->run--;
	return d->run_thread;
}

static void take_by_kind(struct decoder *d, struct trace_event *event, uint8_t kind,
		bool has_free_nodes) {
	switch (kind) {
	case TRACE_ALLOC:
	case TRACE_MOVED:
		take_info(d, event);
		event->ptr = block_ptr(++d->allocations);
		break;
	case TRACE_ALLOC | OVER:
	case TRACE_MOVED | OVER:
		take_info(d, event);
		event->ptr = take_aged(d);
		d->allocations++;
		break;
	case TRACE_FREE:
	case TRACE_REALLOC:
		event->ptr = take_aged(d);
		uint64_t node = has_free_nodes ? take(d, EVENTS_FREE_NODE) : 0;
		event->node = (uint32_t)node;
		d->is_wrong |= node > UINT32_MAX;
		break;
	case TRACE_STAYED: event->ptr = take_aged(d); break;
	case TRACE_EXEC:
	case TRACE_THREAD_ENDED: break;
	default: d->is_wrong = true;
	}
}

static struct trace_event next_event(struct decoder *d, bool has_free_nodes) {
	struct trace_event event = {0};
	uint8_t kind = cursor_u8(&d->columns[EVENTS_KIND]);
	event.kind = kind & (OVER - 1);
	take_by_kind(d, &event, kind, has_free_nodes);
	uint64_t dt = take(d, EVENTS_TIME);
	d->time_ns += unzigzag(dt);
	event.time_ns = d->time_ns;
	event.thread = take_thread(d) & TRACE_THREAD_MAX;
	return event;
}

static bool decode_table(const struct table_raw *raw, struct decoder *d, trace_each_events *each,
		void *user, bool *is_stopped, struct err *err) {
	for (uint8_t i = 1; i <= N_EVENTS_COLUMNS; i++) {
		d->columns[i] = cursor_init(table_column(raw, i));
	}
	bool has_free_nodes = cursor_left(&d->columns[EVENTS_FREE_NODE]) > 0;
	d->has_info_steps = cursor_left(&d->columns[EVENTS_INFO_STEP]) > 0;
	d->has_age_steps = cursor_left(&d->columns[EVENTS_AGE_STEP]) > 0;
	struct trace_event batch[EVENTS_BATCH];
	for (uint64_t left = raw->n; left && !*is_stopped;) {
		size_t n = left < EVENTS_BATCH ? left : EVENTS_BATCH;
		for (size_t i = 0; i < n; i++) {
			batch[i] = next_event(d, has_free_nodes);
		}
		if (d->is_wrong || ANY(i, N_EVENTS_COLUMNS, d->columns[i + 1].failed)) {
			return err_format(err,
					"the events make no sense from number %" PRIu64 " of the block on",
					raw->n - left);
		}
		*is_stopped = !each(user, batch, n);
		left -= n;
	}
	return *is_stopped ||
			(d->run == 0 && !ANY(i, N_EVENTS_COLUMNS, cursor_left(&d->columns[i + 1]))) ||
			err_format(err, "there is more of some column than of events");
}

bool events_decode(struct slice payload, const struct info_table *infos, trace_each_events *each,
		void *user, bool *is_stopped, struct err *err) {
	struct cursor c = cursor_init(payload);
	struct table_raw raw;
	struct start_row start = {0};
	bool has_start = false;
	while (!*is_stopped && table_next(&raw, &c, err)) {
		if (raw.id == table_start.id && raw.n == 1 && !has_start) {
			if (!table_decode(&raw, &table_start, &start, NULL, err)) {
				return false;
			}
			has_start = true;
		} else if (raw.id == TABLE_EVENTS) {
			struct decoder d = {.infos = infos,
					.allocations = start.allocations,
					.time_ns = start.time_ns};
			if (!has_start || !table_count_is_possible(&raw)) {
				return err_format(err, "fewer events than announced");
			}
			if (!decode_table(&raw, &d, each, user, is_stopped, err)) {
				return false;
			}
		}
	}
	return !c.failed;
}
