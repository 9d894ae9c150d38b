// SPDX-License-Identifier: MIT
#include "web/blob.h"

#include "web/columns.h"
#include "web/facts.h"
#include "web/pack.h"
#include "web/sources.h"

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

static bool put_tables(struct columns *c, struct buffer *body) {
	struct buffer s = {0};
	columns_nodes(c, &s);
	put_section(body, BLOB_NODES, &s);
	columns_stacks(c, &s);
	put_section(body, BLOB_STACKS, &s);
	columns_edges(c, &s);
	put_section(body, BLOB_EDGES, &s);
	columns_curve(c, &s);
	put_section(body, BLOB_CURVE, &s);
	bool ok = columns_intervals(c, &s);
	put_section(body, BLOB_INTERVALS, &s);
	ok = ok && columns_sizes(c, &s);
	put_section(body, BLOB_SIZES, &s);
	columns_handovers(c, &s);
	put_section(body, BLOB_HANDOVERS, &s);
	columns_samples(c, &s);
	put_section(body, BLOB_SAMPLES, &s);
	ok = ok && sources_write(c, &s);
	put_section(body, BLOB_SOURCES, &s);
	buffer_finish(&s);
	return ok && !body->failed;
}

static bool put_body(struct columns *c, struct buffer *body, struct err *err) {
	struct buffer facts = {0};
	bool ok = facts_write(&facts, c->r, c->names, c->options, c->stacks.n_merged, err);
	put_section(body, BLOB_FACTS, &facts);
	buffer_finish(&facts);
	return ok && ((put_words(c, body) && put_tables(c, body)) || err_memory(err));
}

bool blob_write(struct buffer *out, const struct recording *r, const struct names *n,
		const struct blob_options *options, struct err *err) {
	struct arena arena = {0};
	struct frames frames;
	struct columns c = {r, n, &frames, options, &arena, {0}};
	struct buffer body = {0};
	bool ok = (frames_build(r, n, &arena, &frames) && columns_find_stacks(&c)) || err_memory(err);
	ok = ok && put_body(&c, &body, err);
	arena_finish(&arena);
	if (ok) {
		buffer_text(out, BLOB_MAGIC);
		buffer_u32(out, BLOB_VERSION);
		buffer_u64(out, body.size);
		ok = pack_deflate(out, buffer_view(&body), err) && (!out->failed || err_memory(err));
	}
	buffer_finish(&body);
	return ok;
}
