// SPDX-License-Identifier: MIT
/* Puts the sections of a blob together and packs them. */
#include "web/encode/columns.h"

/** Append a section to the body: its kind, its length, its bytes; and clear it. */
static void put_section(struct buffer *body, enum blob_section kind, struct buffer *section) {
	buffer_u8(body, (uint8_t)kind);
	buffer_sized(body, buffer_view(section));
	body->failed |= section->failed;
	buffer_clear(section);
}

static bool put_words(struct columns *c, struct buffer *body) {
	struct buffer strings = {0}, symbols = {0}, threads = {0};
	bool ok = columns_symbols(c, &strings, &symbols, &threads);
	put_section(body, BLOB_STRINGS, &strings);
	put_section(body, BLOB_SYMBOLS, &symbols);
	put_section(body, BLOB_THREADS, &threads);
	buffer_finish(&threads);
	buffer_finish(&symbols);
	buffer_finish(&strings);
	return ok;
}

/** What the first picture needs: who is there, what each cost over the whole run, and when. */
static bool put_first(struct columns *c, struct buffer *body, struct err *err) {
	SCOPED(buffer) s = {0};
	bool ok = facts_write(&s, c, err);
	put_section(body, BLOB_FACTS, &s);
	ok = ok && (put_words(c, body) || err_memory(err));
	columns_nodes(c, &s);
	put_section(body, BLOB_NODES, &s);
	columns_stacks(c, &s);
	put_section(body, BLOB_STACKS, &s);
	columns_periods(c->r->edges.items, c->r->edges.n, &s);
	put_section(body, BLOB_EDGES, &s);
	columns_periods(c->r->curve.items, c->r->curve.n, &s);
	put_section(body, BLOB_CURVE, &s);
	ok = ok && (columns_samples(c, &s) || err_memory(err));
	put_section(body, BLOB_SAMPLES, &s);
	columns_handovers(c, &s);
	put_section(body, BLOB_HANDOVERS, &s);
	return ok && (!body->failed || err_memory(err));
}

static bool put_rest(struct columns *c, struct buffer *body, struct err *err) {
	SCOPED(buffer) s = {0};
	bool ok = columns_intervals(c, &s);
	put_section(body, BLOB_INTERVALS, &s);
	ok = ok && columns_sizes(c, &s);
	put_section(body, BLOB_SIZES, &s);
	ok = ok && sources_write(c, &s);
	put_section(body, BLOB_SOURCES, &s);
	return (ok && !body->failed) || err_memory(err);
}

static bool pack_part(struct buffer *out, const struct buffer *body, enum blob_packing packing,
		struct err *err) {
	static const int levels[] = {[BLOB_SMALL] = 7, [BLOB_QUICKLY] = 1, [BLOB_AS_IS] = 0};
	SCOPED(buffer) packed = {0};
	bool ok = pack_deflate(&packed, buffer_view(body), levels[packing], err);
	buffer_u64(out, body->size);
	buffer_u64(out, packed.size);
	buffer_slice(out, buffer_view(&packed));
	return ok && (!out->failed || err_memory(err));
}

static bool write_parts(struct columns *c, struct buffer *out, struct err *err) {
	enum blob_packing packing = c->options->packing;
	SCOPED(buffer) body = {0};
	bool ok = put_first(c, &body, err) && pack_part(out, &body, packing, err);
	buffer_clear(&body);
	return ok && put_rest(c, &body, err) && pack_part(out, &body, packing, err);
}

bool blob_write(struct buffer *out, const struct recording *r, const struct names *n,
		const struct blob_options *options, struct err *err) {
	SCOPED(arena) arena = {0};
	struct frames frames;
	struct columns c = {r, n, &frames, options, &arena, {0}};
	buffer_text(out, BLOB_MAGIC);
	buffer_u32(out, BLOB_VERSION);
	bool ok = (frames_build(r, n, &arena, &frames) && columns_find_stacks(&c)) || err_memory(err);
	return ok && write_parts(&c, out, err);
}

size_t blob_first_size(struct slice blob) {
	struct cursor c = cursor_init(blob);
	(void)cursor_bytes(&c, BLOB_HEAD_BYTES + BLOB_PART_BYTES / 2);
	uint64_t packed = cursor_u64(&c);
	return c.failed ? blob.size : BLOB_HEAD_BYTES + BLOB_PART_BYTES + (size_t)packed;
}
