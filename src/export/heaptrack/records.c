// SPDX-License-Identifier: MIT
/* Names, places and stacks are written right before their first use, as by KDE's interpreter. */
#include "export/heaptrack/records.h"

#include "formats/heaptrack.h"

enum { FLUSH_BYTES = 256 << 10 };

void kde_out_flush(struct kde_out *o) {
	o->failed = o->failed || !o->sink->write(o->sink->user, buffer_view(&o->out), &o->err);
	buffer_clear(&o->out);
}

void kde_out_line(struct kde_out *o, char kind, struct slice text, const uint64_t *numbers,
		size_t n) {
	heaptrack_write(&o->out, kind, text, numbers, n);
	if (o->out.size >= FLUSH_BYTES) {
		kde_out_flush(o);
	}
}

void kde_out_numbers(struct kde_out *o, char kind, const uint64_t *numbers, size_t n) {
	kde_out_line(o, kind, (struct slice){0}, numbers, n);
}

// ---- time

void kde_out_resident(struct kde_out *o, uint64_t bytes) {
	uint64_t pages = bytes / kde_out_page_bytes(o->r);
	kde_out_numbers(o, 'R', &pages, 1);
}

/** The peak is not a sample, but known. */
void kde_out_samples(struct kde_out *o, uint64_t time_ns) {
	const struct recording *r = o->r;
	if (!o->has_peak && r->summary.peak_rss_bytes && r->summary.peak_rss_time_ns <= time_ns) {
		kde_out_resident(o, r->summary.peak_rss_bytes);
		o->has_peak = true;
	}
	for (; o->next_sample < r->samples.n && r->samples.items[o->next_sample].time_ns <= time_ns;
			o->next_sample++) {
		kde_out_resident(o, r->samples.items[o->next_sample].rss_bytes);
	}
}

void kde_out_time(struct kde_out *o, uint64_t time_ns) {
	kde_out_samples(o, time_ns);
	uint64_t ms = time_ns / 1000000;
	if (ms > o->time_ms) {
		o->time_ms = ms;
		kde_out_numbers(o, 'c', &ms, 1);
	}
}

// ---- code

/** The ordinal of a text, written if new. `id`: 0 for texts not of the recording. */
static uint32_t text_of(struct kde_out *o, uint32_t id, struct slice text) {
	if (!o->strings[id]) {
		kde_out_line(o, 's', text, NULL, 0);
		o->strings[id] = ++o->n_strings;
	}
	return o->strings[id];
}

static uint32_t string_of(struct kde_out *o, uint32_t id) {
	return id ? text_of(o, id, o->r->strings.items[id]) : 0;
}

/** An ip is the address of the call: the return address minus one. */
static uint64_t ip_of(const struct rec_location *l) {
	return l->is_exact || l->pc == 0 ? l->pc : l->pc - 1;
}

/** i: ip, module, and for each frame, innermost first, function, file and line. */
static uint32_t location_of(struct kde_out *o, uint32_t id) {
	if (o->locations[id]) {
		return o->locations[id];
	}
	const struct recording *r = o->r;
	const struct rec_location *l = &r->locations.items[id];
	uint32_t n_frames = l->is_mark ? 1 : l->n_frames;
	FREED uint64_t *numbers = memory_new(2 + 3 * (size_t)n_frames, sizeof *numbers);
	size_t n = 0;
	numbers[n++] = ip_of(l);
	uint32_t path = o->r->modules.items[l->module].path;
	bool has_path = o->r->strings.items[path].size > 0;
	numbers[n++] = l->module ? string_of(o, has_path ? path : o->r->meta.exe) : 0;
	for (uint32_t i = 0; i < l->n_frames && !l->is_mark; i++) {
		const struct rec_frame *f = &r->frames.items[l->first_frame + i];
		numbers[n++] = string_of(o, f->function);
		numbers[n++] = string_of(o, f->file);
		numbers[n++] = f->line;
	}
	if (l->is_mark) {
		numbers[n++] = text_of(o, 0, slice_of_text("(callers not recorded)"));
	} else if (n == 5 && numbers[3] == 0) {
		n = numbers[2] ? 3 : 2; // no file: only the function, if any
	}
	kde_out_numbers(o, 'i', numbers, n);
	return o->locations[id] = ++o->n_locations;
}

static void put_trace(struct kde_out *o, uint32_t node) {
	const struct rec_node *n = &o->r->nodes.items[node];
	const struct rec_location *l = &o->r->locations.items[n->location];
	uint64_t parent = o->nodes[n->parent];
	bool is_nowhere = n->location == 0 || (o->is_raw && l->is_mark);
	if (is_nowhere) {
		o->nodes[node] = (uint32_t)parent; // it has its caller's stack
		return;
	}
	uint64_t numbers[2] = {o->is_raw ? ip_of(l) : location_of(o, n->location), parent};
	kde_out_numbers(o, 't', numbers, 2);
	o->nodes[node] = ++o->n_nodes;
}

/** The ordinal of a stack, written with all that it needs. */
static uint32_t kde_out_trace(struct kde_out *o, uint32_t node) {
	o->path.n = 0;
	for (uint32_t i = node; i && !o->nodes[i]; i = o->r->nodes.items[i].parent) {
		(void)vec_add(&o->path, i);
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
	uint32_t found = INDEX_FIND(&o->info_index, hash, i,
			o->infos.items[i].size == size && o->infos.items[i].node == node &&
					o->infos.items[i].is_twin == is_twin);
	return found == INDEX_NONE ? KDE_OUT_NO_INFO : found;
}

uint32_t kde_out_info(struct kde_out *o, uint32_t node, uint64_t size, bool is_twin) {
	const uint64_t hash = hash_info(node, size, is_twin);
	const uint32_t next = (uint32_t)o->infos.n;
	const uint32_t id = VEC_FIND_OR_ADD(&o->info_index, &o->infos, hash, i,
			i->size == size && i->node == node && i->is_twin == is_twin,
			(struct kde_out_info){size, node, is_twin});
	if (id == next) {
		uint64_t numbers[2] = {size, kde_out_trace(o, node)};
		kde_out_numbers(o, 'a', numbers, 2);
	}
	return id;
}

void kde_out_block(struct kde_out *o, char kind, uint32_t info) {
	uint64_t number = info - KDE_OUT_FIRST;
	kde_out_numbers(o, kind, &number, 1);
}

void kde_out_raw_alloc(struct kde_out *o, uint64_t size, uint32_t node, uint64_t ptr) {
	uint64_t numbers[3] = {size, kde_out_trace(o, node), ptr};
	kde_out_numbers(o, '+', numbers, 3);
}

uint64_t kde_out_alloc(struct kde_out *o, uint64_t size, uint32_t node, uint64_t ptr,
		bool is_twin) {
	if (o->is_raw) {
		kde_out_raw_alloc(o, size, node, ptr);
		return 1;
	}
	uint32_t info = kde_out_info(o, node, size, is_twin);
	kde_out_block(o, '+', info);
	return info;
}

void kde_out_raw_free(struct kde_out *o, uint64_t ptr) {
	kde_out_numbers(o, '-', &ptr, 1);
}

void kde_out_free(struct kde_out *o, uint64_t ptr, uint64_t info) {
	if (info && o->is_raw) {
		kde_out_raw_free(o, ptr);
	} else if (info) {
		kde_out_block(o, '-', (uint32_t)info);
	}
}

void kde_out_free_at(struct kde_out *o, uint64_t ptr) {
	kde_out_free(o, ptr, map_take(&o->live, ptr));
}

void kde_out_alloc_at(struct kde_out *o, uint64_t size, uint32_t node, uint64_t ptr, bool is_twin) {
	uint64_t value = kde_out_alloc(o, size, node, ptr, is_twin);
	(void)(value && map_put(&o->live, ptr, value));
}
