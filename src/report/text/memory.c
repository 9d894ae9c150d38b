// SPDX-License-Identifier: MIT
/*
 * The parts of resident memory at one moment, which add up to it. The report shows the look nearest
 * the peak, briefly enough to leave the tables their room; --memory shows all looks, row by row.
 */
#include "report/view/viewer.h"
#include "wire/event.h"

enum { ROWS = 11, MAKERS = 3, NAMED = 2, REMARK_PERCENT = 2, SHARE_COLUMN = 10 };
enum { HALF = REC_FULLNESS / 2, PINNED_BYTES = 65536 }; // the least that gets a row

struct writer {
	struct buffer *out;
	const struct recording *r;
	const struct names *names;
	struct arena *arena;
	size_t width; // of a line
	struct memory_look m;
};

/** Cuts the label to its column, and frees it. */
static void put_row(struct writer *w, struct buffer *label, uint64_t bytes) {
	put_cut_padded(w->out, buffer_view(label), w->width - BYTES_COLUMN - SHARE_COLUMN);
	put_right(w->out, HUMAN_COMPACT(bytes), BYTES_COLUMN);
	put_right(w->out, HUMAN_SHARE(bytes, w->m.look->rss_bytes, 1), SHARE_COLUMN);
	buffer_u8(w->out, '\n');
	buffer_finish(label);
}

/** "MEMORY at 1.20 s: RSS 64.5 MB, 97 % of its peak". */
static void put_title(struct writer *w) {
	const struct rec_look *look = w->m.look;
	uint64_t peak = w->r->summary.peak_rss_bytes;
	SCOPED(buffer) title = {0};
	static const char *const at[REC_ATS] = {[REC_AT_END] = "the end, ",
			[REC_AT_DETACH] = "the detach, ",
			[REC_AT_REQUEST] = "a request, "};
	buffer_printf(&title, "MEMORY at %s%s: RSS %s", at[look->at] ? at[look->at] : "",
			HUMAN_DURATION(look->time_ns), HUMAN_BYTES(look->rss_bytes));
	if (peak > look->rss_bytes) {
		buffer_printf(&title, ", %s of its peak", HUMAN_PERCENT(look->rss_bytes, peak));
	}
	put_cut_padded(w->out, buffer_view(&title), w->width - BYTES_COLUMN - SHARE_COLUMN);
	put_right(w->out, "bytes", BYTES_COLUMN);
	put_right(w->out, "% of RSS", SHARE_COLUMN);
	buffer_u8(w->out, '\n');
}

/** "load_table() app.c:12"; of a runtime "node via Allocate()"; without a maker, the row's name. */
static void put_owner(struct writer *w, struct buffer *out, const struct memory_row *row) {
	const struct name *f = row->maker;
	if (!f) {
		buffer_slice(out, row->name.size ? path_base(row->name) : slice_of_text("others"));
		return;
	}
	const char *name = function_short(f->function, w->arena);
	const char *via = row->via && row->via->has_name ? function_short(row->via->function, w->arena)
													 : NULL;
	buffer_text(out, name);
	if (row->running) {
		buffer_printf(out, " (%s while %s ran)", HUMAN_BYTES(row->running_bytes),
				function_short(row->running->function, w->arena));
	} else if (via) {
		buffer_printf(out, " via %s", via);
	} else if (!f->is_runtime) {
		buffer_u8(out, ' ');
		put_place(out, f);
	}
	if (row->name.size) {
		buffer_printf(out, " (%.*s)", SLICE_ARG(path_base(row->name)));
	}
}

static void put_lazy_free(struct buffer *out, uint64_t bytes) {
	if (bytes > 0) {
		buffer_printf(out, " (%s given back, not taken yet)", HUMAN_BYTES(bytes));
	}
}

static struct memory_row *rows_of(struct writer *w, uint8_t part, uint32_t *n) {
	return memory_rows(&w->m, part, w->r, w->names, w->arena, n);
}

static void put_mapper(struct writer *w, struct buffer *out, const struct memory_row *row) {
	bool is_by_nobody = !row->maker && starts_with(row->name, "before the attach");
	buffer_text(out, is_by_nobody ? "  mapped " : "  mapped by ");
	put_owner(w, out, row);
}

/** " (libLLVM.so.14 3.1 MB, app 10.2 kB)": the largest that have a name and fit. */
static void put_largest(struct writer *w, struct buffer *out, const struct memory_row *rows,
		uint32_t n) {
	const size_t room = w->width - BYTES_COLUMN - SHARE_COLUMN - sizeof "()";
	uint32_t n_named = 0;
	for (uint32_t i = 0; i < n && n_named < NAMED && !memory_row_is_rest(&rows[i]); i++) {
		SCOPED(buffer) name = {0};
		put_owner(w, &name, &rows[i]);
		buffer_printf(&name, " %s", HUMAN_BYTES(rows[i].bytes));
		if (out->size + name.size >= room) {
			break;
		}
		buffer_text(out, n_named++ ? ", " : " (");
		buffer_slice(out, buffer_view(&name));
	}
	buffer_text(out, n_named ? ")" : "");
}

/** A row for each of those who mapped most, and one for the others. */
static void put_mapped(struct writer *w, uint32_t most) {
	uint32_t n;
	const struct memory_row *rows = rows_of(w, REC_PART_MAPPED, &n);
	uint64_t rest = w->m.bytes[REC_PART_MAPPED];
	uint32_t i = 0;
	for (; i < n && (n <= most || i + 1 < most); i++) {
		if (memory_row_is_rest(&rows[i])) {
			break;
		}
		struct buffer label = {0};
		put_mapper(w, &label, &rows[i]);
		put_lazy_free(&label, rows[i].lazy_free);
		put_row(w, &label, rows[i].bytes);
		rest -= rows[i].bytes;
	}
	if (rest > 0) {
		struct buffer label = {0};
		if (most == 1 && !memory_row_is_rest(rows)) {
			put_mapper(w, &label, rows);
			buffer_text(&label, " and others");
		} else {
			buffer_text(&label, "  mapped by others");
			put_largest(w, &label, rows + i, n - i);
		}
		put_row(w, &label, rest);
	}
}

static void put_part(struct writer *w, uint8_t part, bool has_rows) {
	struct buffer label = {0};
	uint64_t bytes = w->m.bytes[part], lazy = w->m.lazy_free[part];
	buffer_printf(&label, "  %s", memory_part_texts[part].words);
	if (part == REC_PART_HEAP_LIVE && w->m.asked_bytes > bytes) {
		buffer_printf(&label, " (of %s asked for)", HUMAN_BYTES(w->m.asked_bytes));
	} else if (lazy > 0) {
		put_lazy_free(&label, lazy);
	} else if (!has_rows && part >= REC_PART_MODULES_WRITTEN) {
		uint32_t n = 0;
		const struct memory_row *rows = rows_of(w, part, &n);
		put_largest(w, &label, rows, n);
	}
	put_row(w, &label, bytes);
}

/** Remarks that the figures need. */
static void put_remarks(struct writer *w, struct buffer *out, bool is_full) {
	const struct rec_look *look = w->m.look;
	if (!(look->has & REC_HAS_PAGES)) {
		buffer_text(out,
				"  resident pages could not be read: what has several owners is not known\n");
	}
	if (look->swap_bytes > 0) {
		buffer_printf(out, "  %s more are swapped out\n", HUMAN_BYTES(look->swap_bytes));
	}
	if (look->has & REC_HAS_TYPES) {
		buffer_text(out, "  --by type says what its blocks are of Python's objects\n");
	}
	if (w->m.group) {
		buffer_text(out, "  its control group used ");
		memory_put_group(out, w->m.group);
		buffer_u8(out, '\n');
	}
	if (look->changed_bytes > (is_full ? 0 : look->rss_bytes / 100 * REMARK_PERCENT)) {
		buffer_printf(out, "  about %s came or went while it was read\n",
				HUMAN_BYTES(look->changed_bytes));
	}
}

/** The parts to join if not all rows have room: the smallest, never the unknown one. */
static uint32_t joined_parts(const struct memory_look *m, uint32_t n_rows, uint32_t most) {
	uint32_t joined = 0;
	for (; n_rows > most; n_rows -= joined & (joined - 1) ? 1 : 0) {
		uint8_t least = REC_PARTS;
		for (uint8_t i = 0; i < REC_PARTS; i++) {
			bool may_be = m->bytes[i] > 0 && i != REC_PART_UNKNOWN && !(joined >> i & 1);
			least = may_be && (least == REC_PARTS || m->bytes[i] < m->bytes[least]) ? i : least;
		}
		joined |= 1u << least;
	}
	return joined;
}

static void put_parts(struct writer *w) {
	SCOPED(buffer) remarks = {0};
	put_remarks(w, &remarks, false);
	const uint32_t n = (uint32_t)SUM(i, REC_PARTS, w->m.bytes[i] > 0);
	const uint32_t most = ROWS - (uint32_t)SUM(i, remarks.size, remarks.data[i] == '\n');
	uint64_t rest = 0;
	const uint32_t joined = joined_parts(&w->m, n, most);
	uint32_t makers = n < most ? 1 + most - n : 1;
	put_title(w);
	for (uint8_t i = 0; i < REC_PARTS; i++) {
		const uint8_t part = (uint8_t)((i + REC_PART_HEAP) % REC_PARTS); // the heap first
		if (joined >> part & 1) {
			rest += w->m.bytes[part];
		} else if (w->m.bytes[part] > 0 && part == REC_PART_MAPPED) {
			put_mapped(w, makers < MAKERS ? makers : MAKERS);
		} else if (w->m.bytes[part] > 0) {
			put_part(w, part, false);
		}
	}
	if (rest > 0) {
		struct buffer label = {0};
		buffer_text(&label, "  smaller parts");
		put_row(w, &label, rest);
	}
	buffer_slice(w->out, buffer_view(&remarks));
	buffer_u8(w->out, '\n');
}

void page_put_memory(struct page *p) {
	struct writer w = {p->out, p->r, p->names, &p->arena, p->width, memory_at_peak(p->r)};
	if (w.m.look) {
		put_parts(&w);
	}
}

// ---- in full

/** By stack: what of live blocks was not in memory, or is free on their pages. */
static void put_untouched(struct writer *w, bool is_pinned) {
	const char *title = is_pinned ? "  free on the pages of live blocks:\n"
								  : "  of live blocks not in memory:\n";
	EACH_OF(u, w->m.untouched, w->m.n_notable) {
		const uint32_t node = w->r->stacks.items[u->stack].node;
		const struct name *site = names_site(w->names, node);
		if (is_pinned ? u->pinned_bytes < PINNED_BYTES : !memory_is_absent(u)) {
			continue;
		}
		const struct memory_row row = {.maker = site,
				.via = site && site->is_runtime ? names_site_frame(w->names, node, site) : NULL};
		buffer_printf(w->out, "%s      %s %s %s in %s: ", title,
				HUMAN_BYTES(is_pinned ? u->pinned_bytes : u->asked_bytes - u->resident_bytes),
				is_pinned ? "beside" : "of", HUMAN_BYTES(u->asked_bytes),
				COUNTED(u->blocks, "block"));
		title = "";
		put_owner(w, w->out, &row);
		buffer_u8(w->out, '\n');
	}
}

static void put_arenas(struct writer *w) {
	const uint64_t page = w->r->meta.page_bytes;
	const char *title = "  arenas, and how full their pages are of live blocks:\n";
	EACH_OF(a, w->m.arenas, w->m.n_arenas) {
		const uint64_t all = SUM(k, REC_FULLNESS, a->pages[k]);
		const uint64_t half = SUM(k, HALF, a->pages[k + 1]);
		buffer_printf(w->out, "%s      ", title);
		memory_put_arena(w->out, a);
		buffer_printf(w->out, ": %s, %s live; %s in empty pages, %s in pages up to half full\n",
				HUMAN_BYTES(all * page), HUMAN_BYTES(a->live_bytes),
				HUMAN_BYTES(a->pages[0] * page), HUMAN_BYTES(half * page));
		title = "";
	}
}

static void put_in_full(struct writer *w) {
	put_title(w);
	for (uint8_t i = 0; i < REC_PARTS; i++) {
		const uint8_t part = (uint8_t)((i + REC_PART_HEAP) % REC_PARTS);
		uint32_t n = 0;
		const struct memory_row *rows = rows_of(w, part, &n);
		if (w->m.bytes[part] > 0) {
			put_part(w, part, true);
		}
		bool has_owners = n > 1 || (n == 1 && (rows->maker || rows->name.size > 0));
		for (uint32_t k = 0; has_owners && k < n; k++) {
			struct buffer label = {0};
			buffer_text(&label, "      ");
			put_owner(w, &label, &rows[k]);
			put_row(w, &label, rows[k].bytes);
		}
	}
	put_remarks(w, w->out, true);
	put_arenas(w);
	put_untouched(w, false);
	put_untouched(w, true);
}

/** What calls gave back or locked, and the site that did so most. */
static void put_changes(struct writer *w) {
	buffer_text(w->out, w->r->changes.n ? "\n" : "");
	for (uint8_t i = 0; i < WIRE_CHANGES; i++) {
		struct rec_change most, all = memory_changes(w->r, w->names, i, w->arena, &most);
		if (all.calls > 0) {
			buffer_printf(w->out, "%s: ", memory_change_texts[i].words);
			if (all.bytes > 0)
				buffer_printf(w->out, "%s in ", HUMAN_BYTES(all.bytes));
			buffer_printf(w->out, "%s, the most by ", COUNTED(all.calls, "call"));
			put_owner(w, w->out, &(struct memory_row){.maker = names_site(w->names, most.node)});
			buffer_u8(w->out, '\n');
		}
	}
}

void view_put_memory(struct viewer *v) {
	struct writer w = {v->out, v->r, v->names, &v->arena, v->width, {0}};
	uint32_t n = 0;
	EACH_NUMBER(i, v->r->looks.n, memory_has_look(v->lens, v->r, i)) {
		buffer_text(v->out, n++ ? "\n" : "");
		w.m = memory_look(v->r, i);
		put_in_full(&w);
	}
	if (n == 0) {
		buffer_text(v->out, "No look at the program's memory is in this part of the recording.\n");
	}
	put_changes(&w);
}
