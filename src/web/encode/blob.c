// SPDX-License-Identifier: MIT
/* Puts the sections of a blob together and packs them. */
#include "web/encode/columns.h"

// ---- the sites that cost most, and the lines of source around them

enum { SITES_MAX = 200, LINES_AROUND = 8 };

/** A place in the source, and what the stacks that are named after it cost. */
struct place {
	uint32_t file, line;
	uint64_t weight;
};

ORDER_OF(by_weight, struct place, HIGHEST(weight) ?: LOWEST(file) ?: LOWEST(line));

/** The places of all sites, heaviest first, each once. */
static struct place *find_places(const struct columns *c, uint32_t *n) {
	SCOPED(index) ix = {0};
	struct place *places = arena_new(c->arena, struct place, (size_t)c->stacks.n + 1);
	*n = 0;
	EACH(s, c->stacks) {
		uint32_t key = c->frames->nodes.items[s->site.node].key;
		const struct frame_kind *kind = &c->frames->kinds.items[key];
		uint32_t file = c->frames->symbols.items[kind->symbol].file, line = kind->line;
		if (file && line) {
			uint32_t at = INDEX_FIND_OR_PUT(&ix, hash_u64((uint64_t)file << 32 | line), i,
					places[i].file == file && places[i].line == line, places, *n,
					(struct place){file, line, 0});
			places[at].weight += s->sum.peak_bytes + s->sum.live_bytes + s->sum.allocations;
		}
	}
	qsort(places, *n, sizeof *places, by_weight);
	return places;
}

/** The bytes of the lines first .. last, counted from 1. */
static struct slice cut_lines(struct slice text, uint32_t first, uint32_t last) {
	const uint8_t *start = NULL;
	struct slice rest = text, at;
	for (uint32_t line = 1; line <= last && take_part(&rest, '\n', &at); line++) {
		start = line == first ? at.data : start;
	}
	return start ? slice_of(start, (size_t)(rest.data - start)) : (struct slice){0};
}

/** One row: the file, the number of the first line, the lines. */
static uint32_t put_place(const struct columns *c, const struct place *p, struct buffer *rows) {
	SCOPED(buffer) text = {0};
	uint32_t first = p->line > LINES_AROUND ? p->line - LINES_AROUND : 1;
	struct slice lines = c->options->source(c->options->user, p->file, &text)
			? cut_lines(buffer_view(&text), first, p->line + LINES_AROUND)
			: (struct slice){0};
	if (lines.size > 0) {
		buffer_varint(rows, p->file);
		buffer_varint(rows, first);
		buffer_sized(rows, lines);
	}
	return lines.size > 0;
}

/** The lines of source around the sites that cost most. */
void columns_sources(struct columns *c, struct buffer *out) {
	SCOPED(buffer) rows = {0};
	uint32_t n_places = 0;
	struct place *places = c->options->source ? find_places(c, &n_places) : NULL;
	LOWER_TO(n_places, SITES_MAX);
	buffer_varint(out, SUM(i, n_places, put_place(c, &places[i], &rows)));
	buffer_slice(out, buffer_view(&rows));
}

// ---- the sections, put together and packed

static const struct section {
	uint8_t number, part;
	write_section *write;
} sections[] = {
#define SECTION(number, what, part) {number, part, columns_##what},
		BLOB_SECTIONS(SECTION)};

/** The first has what the first picture needs: who is there, what each cost in all, and when. */
static void write_part(struct columns *c, uint8_t part, struct buffer *out) {
	static const int levels[] = {[BLOB_SMALL] = 7, [BLOB_QUICKLY] = 1, [BLOB_AS_IS] = 0};
	SCOPED(buffer) body = {0};
	SCOPED(buffer) packed = {0};
	EACH_OF_THAT(section, sections, N_OF(sections), section->part == part) {
		SCOPED(buffer) table = {0};
		section->write(c, &table);
		buffer_u8(&body, section->number);
		buffer_sized(&body, buffer_view(&table));
	}
	pack_deflate(&packed, buffer_view(&body), levels[c->options->packing]);
	buffer_u64(out, body.size);
	buffer_u64(out, packed.size);
	buffer_slice(out, buffer_view(&packed));
}

void blob_write(struct buffer *out, const struct recording *r, const struct names *n,
		const struct blob_options *options) {
	SCOPED(arena) arena = {0};
	struct frames frames;
	struct columns c = {r, n, &frames, options, &arena, {0}, {0}, {.borrows = true}};
	buffer_text(out, BLOB_MAGIC);
	buffer_u32(out, BLOB_VERSION);
	frames_build(r, n, &arena, &frames);
	columns_find_stacks(&c);
	write_part(&c, 0, out);
	write_part(&c, 1, out);
	texts_finish(&c.words);
}

size_t blob_first_size(struct slice blob) {
	struct cursor c = cursor_init(blob);
	(void)cursor_bytes(&c, BLOB_HEAD_BYTES + BLOB_PART_BYTES / 2);
	uint64_t packed = cursor_u64(&c);
	return c.failed ? blob.size : BLOB_HEAD_BYTES + BLOB_PART_BYTES + (size_t)packed;
}
