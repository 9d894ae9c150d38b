// SPDX-License-Identifier: MIT
#include "export/heaptrack/heaptrack.h"

#include "export/heaptrack/parts.h"
#include "formats/heaptrack.h"

#include <stdlib.h>

// Names, places and stacks are written right before their first use, as KDE's interpreter does.

enum {
	FLUSH_BYTES = 256 << 10,
	VERSION_WRITTEN = 0x10300, // the first one that wrote format 3, with ips as they are here
};

static void fail(struct kde_out *o, const struct err *err) {
	if (!o->failed) {
		o->err = *err;
		o->failed = true;
	}
}

void kde_out_fail_memory(struct kde_out *o) {
	struct err err = {0};
	(void)err_memory(&err);
	fail(o, &err);
}

static void flush(struct kde_out *o) {
	struct err err = {0};
	if (o->out.failed) {
		kde_out_fail_memory(o);
	} else if (!o->failed && !o->sink->write(o->sink->user, buffer_view(&o->out), &err)) {
		fail(o, &err);
	}
	buffer_clear(&o->out);
}

void kde_out_line(struct kde_out *o, char kind, struct slice text, const uint64_t *numbers,
		size_t n) {
	heaptrack_write(&o->out, kind, text, numbers, n);
	if (o->out.size >= FLUSH_BYTES) {
		flush(o);
	}
}

static void put_numbers(struct kde_out *o, char kind, const uint64_t *numbers, size_t n) {
	kde_out_line(o, kind, (struct slice){0}, numbers, n);
}

// ---- time

static uint64_t page_bytes(const struct recording *r) {
	return r->meta.page_bytes ? r->meta.page_bytes : 4096;
}

/** R: what was resident, up to a moment. The peak is no sample, but known. */
static void put_samples(struct kde_out *o, uint64_t time_ns) {
	const struct recording *r = o->r;
	uint64_t page = page_bytes(r);
	if (!o->has_peak && r->summary.peak_rss_bytes && r->summary.peak_rss_time_ns <= time_ns) {
		uint64_t pages = r->summary.peak_rss_bytes / page;
		put_numbers(o, 'R', &pages, 1);
		o->has_peak = true;
	}
	for (; o->next_sample < r->samples.n && r->samples.items[o->next_sample].time_ns <= time_ns;
			o->next_sample++) {
		uint64_t pages = r->samples.items[o->next_sample].rss_bytes / page;
		put_numbers(o, 'R', &pages, 1);
	}
}

void kde_out_time(struct kde_out *o, uint64_t time_ns) {
	put_samples(o, time_ns);
	uint64_t ms = time_ns / 1000000;
	if (ms > o->time_ms) {
		o->time_ms = ms;
		put_numbers(o, 'c', &ms, 1);
	}
}

// ---- code

static uint32_t string_of(struct kde_out *o, uint32_t id) {
	if (id && !o->strings[id]) {
		kde_out_line(o, 's', o->r->strings.items[id], NULL, 0);
		o->strings[id] = ++o->n_strings;
	}
	return id ? o->strings[id] : 0;
}

static struct slice module_path(const struct recording *r, uint32_t module) {
	const struct rec_module *m = &r->modules.items[module];
	struct slice path = r->strings.items[m->path];
	return path.size || !module ? path : r->strings.items[r->meta.exe];
}

static uint32_t module_of(struct kde_out *o, uint32_t module) {
	uint32_t path = o->r->modules.items[module].path;
	bool has_path = o->r->strings.items[path].size > 0;
	return module ? string_of(o, has_path ? path : o->r->meta.exe) : 0;
}

/** An ip is the address of the call: the return address less one. */
static uint64_t ip_of(const struct rec_location *l) {
	return l->is_exact || l->pc == 0 ? l->pc : l->pc - 1;
}

static uint32_t mark_of(struct kde_out *o) {
	if (!o->strings[0]) {
		kde_out_line(o, 's', slice_of_text("(callers not recorded)"), NULL, 0);
		o->strings[0] = ++o->n_strings;
	}
	return o->strings[0];
}

/** i: ip, module, and for each frame, the innermost first, function, file and line. */
static uint32_t location_of(struct kde_out *o, uint32_t id) {
	if (o->locations[id]) {
		return o->locations[id];
	}
	const struct recording *r = o->r;
	const struct rec_location *l = &r->locations.items[id];
	uint32_t n_frames = l->is_mark ? 1 : l->n_frames;
	uint64_t *numbers = calloc(2 + 3 * (size_t)n_frames, sizeof *numbers);
	if (!numbers) {
		kde_out_fail_memory(o);
		return 0;
	}
	size_t n = 0;
	numbers[n++] = ip_of(l);
	numbers[n++] = module_of(o, l->module);
	for (uint32_t i = 0; i < l->n_frames && !l->is_mark; i++) {
		const struct rec_frame *f = &r->frames.items[l->first_frame + i];
		numbers[n++] = string_of(o, f->function);
		numbers[n++] = string_of(o, f->file);
		numbers[n++] = f->line;
	}
	if (l->is_mark) {
		numbers[n++] = mark_of(o);
	} else if (n == 5 && numbers[3] == 0) {
		n = numbers[2] ? 3 : 2; // no file: only the function, if there is one
	}
	put_numbers(o, 'i', numbers, n);
	free(numbers);
	return o->locations[id] = ++o->n_locations;
}

static void put_trace(struct kde_out *o, uint32_t node) {
	const struct rec_node *n = &o->r->nodes.items[node];
	const struct rec_location *l = &o->r->locations.items[n->location];
	uint64_t parent = o->nodes[n->parent];
	bool is_nowhere = n->location == 0 || (o->is_raw && l->is_mark);
	if (is_nowhere) {
		o->nodes[node] = (uint32_t)parent; // its stack is its caller's
		return;
	}
	uint64_t numbers[2] = {o->is_raw ? ip_of(l) : location_of(o, n->location), parent};
	put_numbers(o, 't', numbers, 2);
	o->nodes[node] = ++o->n_nodes;
}

uint32_t kde_out_trace(struct kde_out *o, uint32_t node) {
	o->path.n = 0;
	for (uint32_t i = node; i && !o->nodes[i]; i = o->r->nodes.items[i].parent) {
		uint32_t *step = vec_push(&o->path);
		if (!step) {
			kde_out_fail_memory(o);
			return 0;
		}
		*step = i;
	}
	while (o->path.n) {
		put_trace(o, o->path.items[--o->path.n]);
	}
	return o->nodes[node];
}

static uint64_t hash_info(uint32_t node, uint64_t size, bool is_twin) {
	return hash_u64(size * 2 + is_twin + ((uint64_t)node << 34));
}

uint32_t kde_out_find(const struct kde_out *o, uint32_t node, uint64_t size, bool is_twin) {
	uint64_t hash = hash_info(node, size, is_twin);
	uint32_t at = index_first(&o->info_index, hash);
	for (uint32_t i; (i = index_next(&o->info_index, hash, &at)) != INDEX_NONE;) {
		const struct kde_out_info *info = &o->infos.items[i];
		if (info->size == size && info->node == node && info->is_twin == is_twin) {
			return i;
		}
	}
	return KDE_OUT_NO_INFO;
}

uint32_t kde_out_info(struct kde_out *o, uint32_t node, uint64_t size, bool is_twin) {
	uint32_t found = kde_out_find(o, node, size, is_twin);
	if (found != KDE_OUT_NO_INFO) {
		return found;
	}
	uint64_t hash = hash_info(node, size, is_twin);
	uint64_t numbers[2] = {size, kde_out_trace(o, node)};
	struct kde_out_info *info = index_reserve(&o->info_index, 1) ? vec_push(&o->infos) : NULL;
	if (!info) {
		kde_out_fail_memory(o);
		return KDE_OUT_NO_INFO;
	}
	*info = (struct kde_out_info){size, node, is_twin};
	uint32_t id = (uint32_t)o->infos.n - 1;
	index_put(&o->info_index, hash, id);
	put_numbers(o, 'a', numbers, 2);
	return id;
}

void kde_out_block(struct kde_out *o, char kind, uint32_t info) {
	uint64_t number = info - KDE_OUT_FIRST;
	put_numbers(o, kind, &number, 1);
}

// ---- the first lines

static void put_command(struct kde_out *o) {
	const struct rec_meta *m = &o->r->meta;
	struct buffer text = {0};
	for (uint32_t i = 0; i < m->n_argv; i++) {
		buffer_printf(&text, "%s%.*s", i ? " " : "",
				SLICE_ARG(o->r->strings.items[m->argv_first + i]));
	}
	if (m->n_argv == 0) {
		buffer_slice(&text, o->r->strings.items[m->exe]);
	}
	kde_out_line(o, 'X', buffer_view(&text), NULL, 0);
	buffer_finish(&text);
}

/** Lines of LSan's kind that the program brought. */
static void put_suppressions(struct kde_out *o) {
	struct slice left = buffer_view(&o->request->session->embedded);
	while (left.size) {
		const uint8_t *end = memchr(left.data, '\n', left.size);
		size_t n = end ? (size_t)(end - left.data) : left.size;
		kde_out_line(o, 'S', slice_of(left.data, n), NULL, 0);
		size_t skip = n + (end != NULL);
		left = slice_of(left.data + skip, left.size - skip);
	}
}

static void put_modules(struct kde_out *o) {
	kde_out_line(o, 'm', slice_of_text("-"), NULL, 0);
	for (uint32_t i = 1; i < o->r->modules.n; i++) {
		const struct rec_module *m = &o->r->modules.items[i];
		if (m->start < m->end) {
			uint64_t numbers[3] = {m->bias, m->start - m->bias, m->end - m->start};
			kde_out_line(o, 'm', module_path(o->r, i), numbers, 3);
		}
	}
}

/** From an interpreted file no raw one can be made by copying: it names no addresses. */
static bool copies(const struct kde_out *o) {
	bool has_addresses = false;
	for (uint32_t i = 1; i < o->r->modules.n; i++) {
		has_addresses |= o->r->modules.items[i].start < o->r->modules.items[i].end;
	}
	return o->r->meta.source == REC_FROM_KDE && (!o->is_raw || has_addresses);
}

void kde_out_head(struct kde_out *o) {
	const struct rec_meta *m = &o->r->meta;
	uint64_t version[2] = {VERSION_WRITTEN, HEAPTRACK_FORMAT};
	uint64_t page = page_bytes(o->r);
	uint64_t system[2] = {page, m->system_memory_bytes / page};
	put_numbers(o, 'v', version, 2);
	if (o->is_raw) {
		kde_out_line(o, 'x', o->r->strings.items[m->exe], NULL, 0);
	}
	put_command(o);
	put_numbers(o, 'I', system, 2);
	put_suppressions(o);
	if (m->source == REC_ATTACHED || m->was_attached) {
		kde_out_line(o, 'A', (struct slice){0}, NULL, 0);
	}
	if (o->is_raw) {
		put_modules(o);
	}
}

// ---- all of it

static bool is_whole(const struct lens *l) {
	return !l->has_range && l->n_texts == 0 && l->n_focus == 0 && l->n_hide == 0 &&
			l->n_threads == 0;
}

static bool init(struct kde_out *o, struct arena *arena) {
	o->strings = arena_new(arena, uint32_t, (size_t)o->r->strings.n + 1);
	o->locations = arena_new(arena, uint32_t, o->r->locations.n);
	o->nodes = arena_new(arena, uint32_t, o->r->nodes.n);
	return o->strings && o->locations && o->nodes && vec_push(&o->infos);
}

static void put_end(struct kde_out *o) {
	uint64_t duration_ms = (o->r->meta.duration_ns + 500000) / 1000000;
	const struct recording *r = o->r;
	// The tools call the last time and 1 ms the runtime
	kde_out_time(o, (duration_ms ? duration_ms - 1 : 0) * 1000000);
	put_samples(o, UINT64_MAX);
	// A whole file ends with what is resident; a program may be too short to have been looked at
	uint64_t bytes = r->samples.n ? r->samples.items[r->samples.n - 1].rss_bytes
								  : r->summary.peak_rss_bytes;
	uint64_t pages = bytes / page_bytes(r);
	put_numbers(o, 'R', &pages, 1);
}

static bool write_file(const struct export_request *request, const struct export_sink *sink,
		bool is_raw, struct err *err) {
	if (!is_whole(request->lens)) {
		return err_set(err, ERR_USAGE,
				"the heaptrack format holds a whole recording; leave out --lens");
	}
	const struct recording *r = &request->session->recording;
	if (r->intervals.n == 0 && r->summary.allocations > 0 && r->meta.source == REC_IMPORTED) {
		return err_set(err, ERR_UNSUPPORTED,
				"the heaptrack format holds events, but the input has only totals");
	}
	struct arena arena = {0};
	struct kde_out o = {
			.request = request,
			.sink = sink,
			.r = &request->session->recording,
			.is_raw = is_raw,
	};
	struct trace_source source;
	if (init(&o, &arena)) {
		kde_out_head(&o);
		if (session_source(request->session, &source) && request->session->facts.first_event == 0) {
			kde_out_events(&o, &source);
		} else if (copies(&o)) {
			kde_out_copy(&o);
		} else {
			kde_out_intervals(&o);
		}
		if (!copies(&o)) {
			put_end(&o);
		}
		flush(&o);
	} else {
		kde_out_fail_memory(&o);
	}
	buffer_finish(&o.out);
	vec_finish(&o.path);
	vec_finish(&o.infos);
	index_finish(&o.info_index);
	arena_finish(&arena);
	return !o.failed || err_set(err, o.err.code, "%s", o.err.text);
}

/** KDE's tools suppress by rules of their own: they get what was recorded. */
static bool write_unsuppressed(const struct export_request *request, const struct export_sink *sink,
		bool is_raw, struct err *err) {
	if (request->session->recording.summary.suppressed_blocks == 0) {
		return write_file(request, sink, is_raw, err);
	}
	const struct session_options options = {.no_embedded = true, .no_built_in = true};
	struct session plain;
	if (!session_open_with(&plain, request->session->path, &options, err)) {
		return false;
	}
	struct export_request same = *request;
	same.session = &plain;
	bool ok = write_file(&same, sink, is_raw, err);
	session_close(&plain);
	return ok;
}

bool export_heaptrack(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return write_unsuppressed(request, sink, false, err);
}

bool export_heaptrack_raw(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return write_unsuppressed(request, sink, true, err);
}
