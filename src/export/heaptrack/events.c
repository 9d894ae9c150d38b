// SPDX-License-Identifier: MIT
/*
 * Writes the events of a recording that kept them. A realloc is a free and an allocation at the
 * moment of its second half. The format knows no exec: what one ended is freed there.
 */
#include "base/index.h"
#include "export/heaptrack/records.h"

/** A realloc between its halves. */
struct pending {
	uint64_t ptr, value;
	uint32_t thread;
};

struct replay {
	struct kde_out *o;
	struct map live; // ptr -> info, or in raw files 1
	VEC(struct pending) pending;
	bool has_no_memory;
};

static void on_alloc(struct replay *p, const struct trace_event *e) {
	kde_out_free(p->o, e->ptr, map_take(&p->live, e->ptr)); // its free was missed
	// A free of number 0 behind another free counts as temporary: it is the first block's alone
	bool is_first = kde_out_find(p->o, e->node, e->size, false) == KDE_OUT_FIRST;
	uint64_t value = kde_out_alloc(p->o, e->size, e->node, e->ptr, is_first);
	p->has_no_memory |= value && !map_put(&p->live, e->ptr, value);
}

/** The newest pending realloc of a thread, taken out. */
static bool take_pending(struct replay *p, uint32_t thread, struct pending *out) {
	for (size_t i = p->pending.n; i-- > 0;) {
		if (p->pending.items[i].thread == thread) {
			*out = p->pending.items[i];
			p->pending.n--;
			memmove(&p->pending.items[i], &p->pending.items[i + 1],
					(p->pending.n - i) * sizeof *out);
			return true;
		}
	}
	return false;
}

static void on_realloc(struct replay *p, const struct trace_event *e) {
	struct pending pending = {e->ptr, map_take(&p->live, e->ptr), e->thread};
	p->has_no_memory |= !vec_add(&p->pending, pending);
}

static void on_moved(struct replay *p, const struct trace_event *e) {
	struct pending old;
	if (take_pending(p, e->thread, &old)) {
		kde_out_free(p->o, old.ptr, old.value);
	}
	on_alloc(p, e);
}

/** A realloc that did not happen: the block is where it was, or its address is another's by now. */
static bool on_stayed(struct replay *p, uint32_t thread) {
	struct pending old;
	if (!take_pending(p, thread, &old)) {
		return false;
	}
	if (old.value && map_get(&p->live, old.ptr)) {
		kde_out_free(p->o, old.ptr, old.value);
	} else if (old.value) {
		p->has_no_memory |= !map_put(&p->live, old.ptr, old.value);
	}
	return true;
}

static void on_exec(struct replay *p) {
	for (size_t i = 0; i < p->live.capacity; i++) {
		const struct map_entry *e = &p->live.entries[i];
		kde_out_free(p->o, e->key, e->value);
	}
	for (size_t i = 0; i < p->pending.n; i++) {
		kde_out_free(p->o, p->pending.items[i].ptr, p->pending.items[i].value);
	}
	map_clear(&p->live);
	p->pending.n = 0;
}

static bool each(void *user, const struct trace_event *events, size_t n) {
	struct replay *p = user;
	for (size_t i = 0; i < n && !p->has_no_memory && !p->o->failed; i++) {
		const struct trace_event *e = &events[i];
		kde_out_time(p->o, e->time_ns);
		switch (e->kind) {
		case TRACE_ALLOC: on_alloc(p, e); break;
		case TRACE_FREE: kde_out_free(p->o, e->ptr, map_take(&p->live, e->ptr)); break;
		case TRACE_REALLOC: on_realloc(p, e); break;
		case TRACE_MOVED: on_moved(p, e); break;
		case TRACE_STAYED: (void)on_stayed(p, e->thread); break;
		case TRACE_EXEC: on_exec(p); break;
		case TRACE_THREAD_ENDED:
			while (on_stayed(p, e->thread)) {}
			break;
		default: break;
		}
	}
	return !p->has_no_memory && !p->o->failed;
}

void kde_out_events(struct kde_out *o, const struct trace_source *source) {
	struct replay p = {.o = o};
	struct err err = {0};
	bool ok = trace_read_events(source, o->r, each, &p, &err);
	if (ok && p.has_no_memory) {
		ok = err_memory(&err);
	}
	if (!ok) {
		kde_out_fail(o, &err);
	}
	map_finish(&p.live);
	vec_finish(&p.pending);
}
