// SPDX-License-Identifier: MIT
/*
 * Writes a file of KDE's heaptrack, format 3. docs/kde.md says how, and which figures agree. An
 * interpreted file has names; a raw one has modules and addresses, which heaptrack_interpret names.
 */
#include "formats/heaptrack.h"

#include "export/heaptrack/records.h"
#include "sys/unpack.h"

// ---- the events of another KDE heaptrack file, read a second time
//
// The recording made from it in the first pass has the names, this pass has the order.

struct copy {
	struct kde_out *o;
	struct heaptrack_reader reader;
	bool from_raw;
	VEC(struct kde_out_info) infos; // of the file, if interpreted
};

static uint32_t known_node(const struct copy *c, uint64_t node) {
	return node < c->o->r->nodes.n ? (uint32_t)node : 0;
}

static bool take(void *user, const struct heaptrack_record *r, struct err *err) {
	struct copy *c = user;
	struct kde_out *o = c->o;
	(void)err;
	if (r->is_bad) {
		return true;
	}
	const struct kde_out_info *info = r->n && r->numbers[0] < c->infos.n
			? &c->infos.items[r->numbers[0]]
			: NULL;
	switch (r->kind) {
	case 'm':
	case 'x': c->from_raw = true; break;
	case 'a':
		(void)vec_add(&c->infos,
				(struct kde_out_info){.size = r->numbers[0], .node = known_node(c, r->numbers[1])});
		break;
	case '+':
		if (r->n == 3) {
			kde_out_free_at(o, r->numbers[2]);
			kde_out_alloc_at(o, r->numbers[0], known_node(c, r->numbers[1]), r->numbers[2], false);
		} else if (info) {
			(void)kde_out_alloc(o, info->size, info->node, 0, false);
		}
		break;
	case '-':
		if (c->from_raw || c->reader.format == 0) {
			kde_out_free_at(o, r->numbers[0]);
		} else if (info) {
			kde_out_block(o, '-', kde_out_info(o, info->node, info->size, false));
		}
		break;
	case 'c':
	case 'R': kde_out_numbers(o, r->kind, r->numbers, 1); break;
	default: break;
	}
	return !o->failed;
}

static void kde_out_copy(struct kde_out *o) {
	struct copy c = {.o = o};
	struct unpack *in = unpack_open(o->request->session->path, 0, &o->err);
	bool ok = in != NULL;
	for (struct slice bytes = {0}; ok;) {
		ok = unpack_next(in, &bytes, &o->err) &&
				heaptrack_read(&c.reader, bytes, take, &c, &o->err);
		if (bytes.size == 0) {
			break;
		}
	}
	o->failed |= !ok;
	unpack_close(in);
	heaptrack_reader_finish(&c.reader);
	vec_finish(&c.infos);
}

// ---- the events of a recording made with --events
//
// A realloc is a free and an allocation at the moment of its second half. The format has no exec:
// what one ended is freed there.

struct replay {
	struct kde_out *o;
	struct trace_pendings pending;
};

static void on_alloc(struct replay *p, const struct trace_event *e) {
	kde_out_free_at(p->o, e->ptr);
	// A free of number 0 after another free counts as temporary: only the first block has it
	bool is_first = kde_out_find(p->o, e->node, e->size, false) == KDE_OUT_FIRST;
	kde_out_alloc_at(p->o, e->size, e->node, e->ptr, is_first);
}

static void on_realloc(struct replay *p, const struct trace_event *e) {
	struct trace_pending pending = {e->thread, e->ptr, map_take(&p->o->live, e->ptr)};
	(void)vec_add(&p->pending, pending);
}

static void on_moved(struct replay *p, const struct trace_event *e) {
	struct trace_pending old = trace_take_pending(&p->pending, e->thread);
	kde_out_free(p->o, old.ptr, old.value);
	on_alloc(p, e);
}

/** A realloc failed: the block is where it was, unless its address was reused meanwhile. */
static bool on_stayed(struct replay *p, uint32_t thread) {
	struct trace_pending old = trace_take_pending(&p->pending, thread);
	if (old.value && map_get(&p->o->live, old.ptr)) {
		kde_out_free(p->o, old.ptr, old.value);
	} else if (old.value) {
		(void)map_put(&p->o->live, old.ptr, old.value);
	}
	return old.ptr != 0;
}

static void on_exec(struct replay *p) {
	EACH_OF(e, p->o->live.entries, p->o->live.capacity) {
		kde_out_free(p->o, e->key, e->value);
	}
	EACH(old, p->pending) {
		kde_out_free(p->o, old->ptr, old->value);
	}
	map_clear(&p->o->live);
	p->pending.n = 0;
}

static bool each(void *user, const struct trace_event *events, size_t n) {
	struct replay *p = user;
	EACH_OF_WHILE(e, events, n, !p->o->failed) {
		kde_out_time(p->o, e->time_ns);
		switch (e->kind) {
		case TRACE_ALLOC: on_alloc(p, e); break;
		case TRACE_FREE: kde_out_free_at(p->o, e->ptr); break;
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
	return !p->o->failed;
}

static void kde_out_events(struct kde_out *o, const struct trace_source *source) {
	struct replay p = {.o = o};
	o->failed |= !trace_read_events(source, o->r, each, &p, &o->err);
	vec_finish(&p.pending);
}

// ---- the file

enum { VERSION_WRITTEN = 0x10300 }; // the first to write format 3, with ips as here

// ---- the first lines

static void put_command(struct kde_out *o) {
	const struct rec_meta *m = &o->r->meta;
	SCOPED(buffer) text = {0};
	for (uint32_t i = 0; i < m->n_argv; i++) {
		buffer_printf(&text, "%s%.*s", i ? " " : "",
				SLICE_ARG(o->r->strings.items[m->argv_first + i]));
	}
	if (m->n_argv == 0) {
		buffer_slice(&text, o->r->strings.items[m->exe]);
	}
	kde_out_line(o, 'X', buffer_view(&text), NULL, 0);
}

/** The program's built-in suppressions, in LSan's syntax. */
static void put_suppressions(struct kde_out *o) {
	struct slice left = buffer_view(&o->request->session->embedded);
	for (struct slice line; take_part(&left, '\n', &line);) {
		kde_out_line(o, 'S', line, NULL, 0);
	}
}

static void put_modules(struct kde_out *o) {
	kde_out_line(o, 'm', slice_of_text("-"), NULL, 0);
	EACH_THAT(m, o->r->modules, m->start < m->end) {
		const uint64_t numbers[3] = {m->bias, m->start - m->bias, m->end - m->start};
		const struct slice *strings = o->r->strings.items, path = strings[m->path];
		kde_out_line(o, 'm', path.size ? path : strings[o->r->meta.exe], numbers, 3);
	}
}

/** An interpreted file has no addresses to copy into a raw one. */
static bool copies(const struct kde_out *o) {
	return o->r->meta.source == REC_FROM_KDE &&
			(!o->is_raw || FIND_IN(m, o->r->modules, m->start < m->end));
}

static void put_head(struct kde_out *o) {
	const struct rec_meta *m = &o->r->meta;
	uint64_t version[2] = {VERSION_WRITTEN, HEAPTRACK_FORMAT};
	uint64_t page = kde_out_page_bytes(o->r);
	uint64_t system[2] = {page, m->system_memory_bytes / page};
	kde_out_numbers(o, 'v', version, 2);
	if (o->is_raw) {
		kde_out_line(o, 'x', o->r->strings.items[m->exe], NULL, 0);
	}
	put_command(o);
	kde_out_numbers(o, 'I', system, 2);
	put_suppressions(o);
	if (m->source == REC_ATTACHED || m->was_attached) {
		kde_out_line(o, 'A', (struct slice){0}, NULL, 0);
	}
	if (o->is_raw) {
		put_modules(o);
	}
}

// ---- putting it together

static void init(struct kde_out *o, struct arena *arena) {
	o->strings = arena_new(arena, uint32_t, (size_t)o->r->strings.n + 1);
	o->locations = arena_new(arena, uint32_t, o->r->locations.n);
	o->nodes = arena_new(arena, uint32_t, o->r->nodes.n);
	(void)vec_push(&o->infos);
}

static void put_end(struct kde_out *o) {
	uint64_t duration_ms = (o->r->meta.duration_ns + 500000) / 1000000;
	const struct recording *r = o->r;
	// KDE's tools take the last time plus 1 ms for the duration
	kde_out_time(o, (duration_ms ? duration_ms - 1 : 0) * 1000000);
	kde_out_samples(o, UINT64_MAX);
	// A complete file ends with resident memory; a program may be too short for samples
	uint64_t bytes = r->samples.n ? r->samples.items[r->samples.n - 1].rss_bytes
								  : r->summary.peak_rss_bytes;
	kde_out_resident(o, bytes);
}

static bool can_be_written(const struct export_request *request, struct err *err) {
	const struct lens *l = request->lens;
	if (l->has_range || lens_selects(l) || l->n_hide) {
		return err_usage(err, "the heaptrack format holds a whole recording; leave out --lens");
	}
	const struct recording *r = &request->session->recording;
	return r->intervals.n > 0 || r->summary.allocations == 0 || r->meta.source != REC_IMPORTED ||
			err_unsupported(err,
					"the heaptrack format holds events, but the input has only totals");
}

/** The recording's own events, those of the KDE file it was made from, or made-up ones. */
static void put_file(struct kde_out *o) {
	struct session *session = o->request->session;
	struct trace_source source;
	put_head(o);
	if (session_source(session, &source) && session->facts.first_event == 0) {
		kde_out_events(o, &source);
	} else if (copies(o)) {
		kde_out_copy(o);
	} else {
		kde_out_intervals(o);
	}
	if (!copies(o)) {
		put_end(o);
	}
	kde_out_flush(o);
}

static bool write_file(const struct export_request *request, const struct export_sink *sink,
		bool is_raw, struct err *err) {
	if (!can_be_written(request, err)) {
		return false;
	}
	SCOPED(arena) arena = {0};
	struct kde_out o = {
			.request = request,
			.sink = sink,
			.r = &request->session->recording,
			.is_raw = is_raw,
	};
	init(&o, &arena);
	put_file(&o);
	buffer_finish(&o.out);
	CALL_FOR(vec_finish, &o, path, infos);
	index_finish(&o.info_index);
	map_finish(&o.live);
	return !o.failed || err_set(err, o.err.code, "%s", o.err.text);
}

/** KDE's tools have their own suppressions: they get what was recorded. */
static bool write_unsuppressed(const struct export_request *request, const struct export_sink *sink,
		bool is_raw, struct err *err) {
	if (request->session->recording.summary.suppressed_blocks == 0) {
		return write_file(request, sink, is_raw, err);
	}
	const struct session_options options = {.no_embedded = true, .no_built_in = true};
	SCOPED_BY(session_close) struct session plain;
	if (!session_open(&plain, request->session->path, &options, err)) {
		return false;
	}
	struct export_request same = *request;
	same.session = &plain;
	return write_file(&same, sink, is_raw, err);
}

bool export_heaptrack(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return write_unsuppressed(request, sink, false, err);
}

bool export_heaptrack_raw(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return write_unsuppressed(request, sink, true, err);
}
