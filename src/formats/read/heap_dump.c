// SPDX-License-Identifier: MIT
/*
 * Reads the text of heap profiles. gperftools and tcmalloc write a record per line,
 *
 *   heap profile:     17:   1234 [   20:   3456] @ heapprofile
 *        1:   100 [     2:   200] @ 0x401136 0x401200
 *
 * jemalloc its stack first and a record per thread below, "t*" being all threads together:
 *
 *   heap_v2/524288
 *     t*: 28106: 56637512 [0: 0]
 *   @ 0x5f86da8 0x5f5a1dc
 *     t*: 13: 6688 [0: 0]
 *
 * Numbers are blocks and bytes in use, then in brackets those ever allocated; 0 there: not counted.
 * With a sampling rate R of bytes, a block of size S was noticed with probability 1 - exp(-S / R).
 * Each record is divided by that, with S its mean size: the writers put numbers into the file that
 * are right after just this, done once, record by record. Behind it all stand the mappings.
 */
#include "formats/formats.h"

#include <math.h>

struct dump {
	struct profile_maker *m;
	uint64_t rate; // bytes; 0 or 1: every block was recorded
	bool has_allocations;
	bool has_stack; // in jemalloc's: a current one
	uint32_t node;
};

struct record {
	uint64_t blocks, bytes, all_blocks, all_bytes;
};

/** "N: B [N: B]" */
static bool take_record(struct slice *s, struct record *r) {
	bool ok = take_decimal(s, &r->blocks) && take_prefix(s, ":") && take_decimal(s, &r->bytes);
	*s = skip_spaces(*s);
	ok = ok && take_prefix(s, "[") && take_decimal(s, &r->all_blocks) && take_prefix(s, ":") &&
			take_decimal(s, &r->all_bytes);
	*s = skip_spaces(*s);
	return ok && take_prefix(s, "]");
}

static void scale(const struct dump *d, uint64_t *blocks, uint64_t *bytes) {
	if (d->rate <= 1 || *blocks == 0) {
		return;
	}
	double mean = (double)*bytes / (double)*blocks, factor = 1 / -expm1(-mean / (double)d->rate);
	double most = 0x1p62;
	*blocks = (uint64_t)fmin(most, (double)*blocks * factor + 0.5);
	*bytes = (uint64_t)fmin(most, (double)*bytes * factor + 0.5);
}

static void add_record(struct dump *d, uint32_t node, struct record r) {
	scale(d, &r.blocks, &r.bytes);
	scale(d, &r.all_blocks, &r.all_bytes);
	struct profile_sample *s = profile_maker_sample(d->m, &(struct profile_sample){.node = node});
	if (!s) {
		return;
	}
	// Sums stay below 2^64 unless the file lies; then they wrap
	s->values[PROFILE_LIVE_OBJECTS] += r.blocks;
	s->values[PROFILE_LIVE_BYTES] += r.bytes;
	s->values[PROFILE_ALLOC_OBJECTS] += r.all_blocks;
	s->values[PROFILE_ALLOC_BYTES] += r.all_bytes;
	d->has_allocations |= r.all_blocks || r.all_bytes;
}

enum { DEEPEST_DUMP = 4096 };

/** Addresses, innermost first. All but the first are return addresses. */
static uint32_t take_stack(struct dump *d, struct slice s) {
	uint64_t addresses[DEEPEST_DUMP];
	size_t n = 0;
	while (n < DEEPEST_DUMP && take_hexadecimal(&s, &addresses[n])) {
		n++;
	}
	uint32_t node = 0;
	while (n-- > 0) {
		struct profile_frame f = {.address = addresses[n] ? addresses[n] - 1 : 0};
		node = profile_maker_node(d->m, node, profile_maker_frame(d->m, &f));
	}
	return node;
}

/** "55d0c000-55d0d000 r-xp 00001000 fd:01 1234   /usr/bin/program" */
static void take_mapping(struct dump *d, struct slice line) {
	uint64_t start = 0, end = 0, offset = 0, inode;
	bool ok = take_hexadecimal(&line, &start) && take_prefix(&line, "-") &&
			take_hexadecimal(&line, &end);
	line = skip_spaces(line);
	if (!ok || line.size < 5 || line.data[2] != 'x') {
		return;
	}
	line = slice_from(line, 4);
	ok = take_hexadecimal(&line, &offset);
	line = skip_spaces(line);
	const uint8_t *space = line.size ? memchr(line.data, ' ', line.size) : NULL;
	if (!ok || !space) {
		return;
	}
	line = slice_of(space, (size_t)(line.data + line.size - space));
	(void)take_decimal(&line, &inode);
	line = skip_spaces(line);
	if (line.size && line.data[0] == '/') {
		struct profile_mapping m = {.start = start,
				.end = end,
				.file_offset = offset,
				.path = profile_maker_string(d->m, line)};
		(void)profile_maker_mapping(d->m, &m);
	}
}

static void find_mappings(struct dump *d) {
	for (size_t i = 1; i < d->m->frames.n; i++) {
		struct profile_frame *f = &d->m->frames.items[i];
		const struct profile_mapping *it = FIND_IN(m, d->m->mappings,
				m->start <= f->address && f->address < m->end);
		f->mapping = it ? (uint32_t)(it - d->m->mappings.items) : 0;
	}
}

static bool take_head(struct dump *d, struct slice line, struct err *err) {
	struct record total;
	bool is_sampled = take_prefix(&line, "heap_v2/"); // jemalloc has nothing else on this line
	if (!is_sampled) {
		(void)take_prefix(&line, "heap profile:");
		bool ok = take_record(&line, &total);
		line = skip_spaces(line);
		if (!ok || !take_prefix(&line, "@")) {
			return err_format(err, "its first line is damaged");
		}
		line = skip_spaces(line);
		is_sampled = take_prefix(&line, "heap_v2/") || take_prefix(&line, "heapz_v2/");
	}
	bool is_twice = !is_sampled && take_prefix(&line, "heap/"); // twice the real rate
	bool ok = (!is_sampled && !is_twice) || take_decimal(&line, &d->rate);
	d->rate /= is_twice ? 2 : 1;
	return ok || err_format(err, "the sampling rate is missing");
}

static bool take_line(struct dump *d, struct slice line, struct err *err) {
	struct record r;
	line = skip_spaces(line);
	if (line.size == 0 || line.data[0] == '#') {
		return true;
	}
	if (take_prefix(&line, "@")) {
		d->node = take_stack(d, line);
		d->has_stack = true;
		return true;
	}
	if (line.data[0] == 't') { // a thread's, or with a star that of all threads
		if (d->has_stack && take_prefix(&line, "t*:")) {
			bool ok = take_record(&line, &r);
			if (ok) {
				add_record(d, d->node, r);
			}
			return ok || err_format(err, "no numbers behind \"t*:\"");
		}
		return true;
	}
	if (!take_record(&line, &r)) {
		return err_format(err, "neither a record nor a stack");
	}
	line = skip_spaces(line);
	if (!take_prefix(&line, "@")) {
		return err_format(err, "a record without its stack");
	}
	add_record(d, take_stack(d, line), r);
	return true;
}

bool heap_dump_knows(struct slice head) {
	return starts_with(head, "heap profile:") || starts_with(head, "heap_v2/");
}

static bool take_all(struct dump *d, struct slice in, struct err *err) {
	struct slice line;
	size_t number = 1;
	bool has_mappings = false;
	if (!next_line(&in, &line)) {
		return err_format(err, "it is empty");
	}
	if (!take_head(d, line, err)) {
		return err_add(err, "line 1");
	}
	while (next_line(&in, &line) && !d->m->failed) {
		number++;
		has_mappings |= starts_with(line, "MAPPED_LIBRARIES:");
		if (has_mappings) {
			take_mapping(d, line);
		} else if (!take_line(d, line, err)) {
			return err_add(err, "line %zu", number);
		}
	}
	return true;
}

bool heap_dump_decode(struct profile_maker *m, struct slice in, struct err *err) {
	struct dump d = {.m = m};
	bool ok = take_all(&d, in, err);
	find_mappings(&d);
	m->head.known = 1u << PROFILE_LIVE_OBJECTS | 1u << PROFILE_LIVE_BYTES;
	if (d.has_allocations) {
		m->head.known |= 1u << PROFILE_ALLOC_OBJECTS | 1u << PROFILE_ALLOC_BYTES;
	}
	if (m->mappings.n > 1) { // the first executable one is the program
		m->head.program = m->mappings.items[1].path;
	}
	return ok;
}
