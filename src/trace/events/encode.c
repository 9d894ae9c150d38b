// SPDX-License-Identifier: MIT
/*
 * Pairs frees with allocations, and encodes both as columns of small numbers.
 *
 * Blocks are numbered as they are allocated, and a free says how many allocations ago its block
 * came: a small number where memory is used like a stack, which is most of the time. So the file
 * needs no addresses, and a reader no table of live blocks.
 *
 * An address stands for one number at a time. When an allocation comes to a live address (its free
 * was missed), the address keeps its number: whoever replays the events sees exactly that, a second
 * allocation at a live address.
 *
 * Infos and ages are stored in two ways, as they are and as steps from the one before: a structure
 * that is built repeatedly uses infos in the order in which they were first used, and is freed in a
 * regular order. Each block of events has the form that packs better.
 */
#include "trace/events/events.h"
#include "trace/file/scan.h"

static uint64_t age_of(const struct events_encoder *e, uint64_t number) {
	return number ? e->allocations + 1 - number : 0;
}

// Needs no check for room: begin_block took enough for a whole block
static void put(struct events_encoder *e, enum events_column column, uint64_t v) {
	struct buffer *b = &e->columns[column];
	b->size = (size_t)(put_varint(b->data + b->size, v) - b->data);
}

static void put_age(struct events_encoder *e, uint64_t age) {
	put(e, EVENTS_AGE, age);
	put(e, EVENTS_AGE_STEP, zigzag(age - e->last.age));
	e->last.age = age;
}

static void begin_block(struct events_encoder *e) {
	// At most two numbers of ten bytes per event and column, and the last run
	enum { ROOM = (EVENTS_PER_BLOCK + 1) * 2 * 10 };
	for (size_t i = 1; i <= N_EVENTS_COLUMNS; i++) {
		(void)buffer_room(&e->columns[i], ROOM);
	}
	e->start = (struct start_row){e->allocations, e->time_ns};
}

static void end_run(struct events_encoder *e) {
	if (e->run) {
		put(e, EVENTS_RUN, e->run);
		put(e, EVENTS_RUN, e->run_thread);
		e->run = 0;
	}
}

static void put_run(struct events_encoder *e, uint32_t thread) {
	if (e->run_thread != thread) {
		end_run(e);
	}
	e->run_thread = thread;
	e->run++;
}

// The node's hint, created if needed; NULL: the node is too large
static struct info_hint *find_hint(struct events_encoder *e, uint32_t node) {
	if (node >= MAX_HINTS) {
		return NULL;
	}
	(void)EVERY(e->hints.n <= node, vec_push(&e->hints));
	return &e->hints.items[node];
}

// The info of an allocation other than the hint, new while there is room; 0: none
static uint64_t look_up_info(struct events_encoder *e, const struct trace_event *event,
		struct info_hint *hint) {
	if (event->size > UINT32_MAX) {
		return 0;
	}
	const uint32_t size = (uint32_t)event->size;
	uint64_t key = (uint64_t)event->node << 32 | size, info = map_get(&e->infos, key);
	if (!info && e->infos.n < MAX_INFOS) {
		info = e->infos.n + 1;
		(void)map_put(&e->infos, key, info);
		(void)vec_add(&e->new_infos, (struct info_row){event->node, size});
	}
	if (hint && info) {
		*hint = (struct info_hint){size, (uint32_t)info};
	}
	return info;
}

static void put_info(struct events_encoder *e, const struct trace_event *event) {
	struct info_hint *hint = find_hint(e, event->node);
	uint64_t info = hint && hint->size == event->size ? hint->info : 0;
	info = info ?: look_up_info(e, event, hint);
	// The info after the last one is step 0
	put(e, EVENTS_INFO, info);
	put(e, EVENTS_INFO_STEP, zigzag(info - e->last.info - 1));
	e->last.info = info;
	if (!info) {
		put(e, EVENTS_NODE, event->node);
		put(e, EVENTS_SIZE, event->size);
	}
}

struct trace_pending trace_take_pending(struct trace_pendings *pending, uint32_t thread) {
	for (size_t i = pending->n; i-- > 0;) {
		struct trace_pending p = pending->items[i];
		if (p.thread == thread) {
			pending->n--;
			memmove(&pending->items[i], &pending->items[i + 1], (pending->n - i) * sizeof p);
			return p;
		}
	}
	return (struct trace_pending){0};
}

static void add_alloc(struct events_encoder *e, const struct trace_event *event, uint8_t *kind) {
	if (event->kind == TRACE_MOVED) {
		(void)trace_take_pending(&e->pending, event->thread);
	}
	put_info(e, event);
	uint64_t over = map_get(&e->blocks, event->ptr);
	e->allocations++;
	if (over) {
		*kind |= OVER;
		put_age(e, e->allocations - over);
	} else {
		(void)map_put(&e->blocks, event->ptr, e->allocations);
	}
}

static void add_free(struct events_encoder *e, const struct trace_event *event) {
	uint64_t number = map_take(&e->blocks, event->ptr);
	put_age(e, age_of(e, number));
	put(e, EVENTS_FREE_NODE, event->node);
	e->has_free_nodes |= event->node != 0;
	if (event->kind == TRACE_REALLOC) {
		(void)vec_add(&e->pending, (struct trace_pending){event->thread, event->ptr, number});
	}
}

static void undo_realloc(struct events_encoder *e, struct trace_pending p) {
	if (p.value) {
		(void)map_put(&e->blocks, p.ptr, p.value);
	}
}

static void add_stayed(struct events_encoder *e, const struct trace_event *event) {
	struct trace_pending p = trace_take_pending(&e->pending, event->thread);
	put_age(e, age_of(e, p.value));
	undo_realloc(e, p);
}

static void add_thread_ended(struct events_encoder *e, uint32_t thread) {
	EACH_THAT(p, e->pending, p->thread == thread) {
		undo_realloc(e, *p);
	}
	vec_keep(&e->pending, 0, p, p->thread != thread);
}

static void add_by_kind(struct events_encoder *e, const struct trace_event *event, uint8_t *kind) {
	switch ((enum trace_event_kind)event->kind) {
	case TRACE_ALLOC:
	case TRACE_MOVED: add_alloc(e, event, kind); break;
	case TRACE_FREE:
	case TRACE_REALLOC: add_free(e, event); break;
	case TRACE_STAYED: add_stayed(e, event); break;
	case TRACE_THREAD_ENDED: add_thread_ended(e, event->thread); break;
	case TRACE_EXEC:
		map_clear(&e->blocks);
		e->pending.n = 0;
		break;
	default: check(!"an event of no kind");
	}
}

void events_add(struct events_encoder *e, const struct trace_event *event) {
	check(e->n < EVENTS_PER_BLOCK);
	if (e->n == 0) {
		begin_block(e);
	}
	uint8_t kind = event->kind;
	add_by_kind(e, event, &kind);
	put(e, EVENTS_KIND, kind); // below 128: one byte
	uint64_t dt = event->time_ns - e->time_ns;
	put(e, EVENTS_TIME, zigzag(dt));
	e->time_ns = event->time_ns;
	put_run(e, event->thread);
	e->n++;
}

/** An estimate of a column's size in the file, from its beginning. */
static uint64_t packed_bytes(const struct buffer *column, struct buffer *scratch) {
	enum { SAMPLE = 16 << 10 };
	size_t n = column->size < SAMPLE ? column->size : SAMPLE;
	if (n == 0) {
		return 0;
	}
	pack(scratch, slice_of(column->data, n), PACK_FAST);
	return (uint64_t)scratch->size * column->size / n;
}

/** Drop the longer of two encodings of the same numbers. */
static void drop_longer(struct events_encoder *e, enum events_column plain,
		enum events_column steps) {
	SCOPED(buffer) scratch = {0};
	uint64_t plain_bytes = packed_bytes(&e->columns[plain], &scratch);
	uint64_t steps_bytes = packed_bytes(&e->columns[steps], &scratch);
	buffer_clear(&e->columns[steps_bytes < plain_bytes ? plain : steps]);
}

void events_encode(struct events_encoder *e, struct buffer *out) {
	buffer_clear(out);
	drop_longer(e, EVENTS_INFO, EVENTS_INFO_STEP);
	drop_longer(e, EVENTS_AGE, EVENTS_AGE_STEP);
	end_run(e);
	table_encode(out, &table_start, &e->start, 0, 1, NULL);
	size_t table = table_begin(out, TABLE_EVENTS, 0, e->n);
	for (uint8_t i = 1; i <= N_EVENTS_COLUMNS; i++) {
		struct slice bytes = buffer_view(&e->columns[i]);
		if (bytes.size == 0 || (i == EVENTS_FREE_NODE && !e->has_free_nodes)) {
			continue;
		}
		size_t column = table_column_begin(out, i);
		buffer_slice(out, bytes);
		table_end(out, column);
	}
	table_end(out, table);
}

void infos_encode(const struct events_encoder *e, struct buffer *out) {
	buffer_clear(out);
	if (e->new_infos.n) {
		table_encode(out, &table_infos, e->new_infos.items, e->n_infos_written, e->new_infos.n,
				NULL);
	}
}

void events_next_block(struct events_encoder *e) {
	e->n = 0;
	e->run = 0;
	e->has_free_nodes = false;
	e->last = (struct events_last){0};
	for (size_t i = 1; i <= N_EVENTS_COLUMNS; i++) {
		buffer_clear(&e->columns[i]);
	}
}

void events_finish(struct events_encoder *e) {
	CALL_FOR(map_finish, e, blocks, infos);
	CALL_FOR(vec_finish, e, hints, pending, new_infos);
	for (size_t i = 1; i <= N_EVENTS_COLUMNS; i++) {
		buffer_finish(&e->columns[i]);
	}
}
