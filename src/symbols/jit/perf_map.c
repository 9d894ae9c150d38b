// SPDX-License-Identifier: MIT
/* Reads lines of a perf map, and resolves addresses that were reused. */
#include "symbols/perf_map.h"

/** A hexadecimal number and the spaces after it. False: there is none, or it is too large. */
static bool take_number(struct slice *line, uint64_t *out) {
	bool ok = line->size > 0 && hex_digit(*line->data) >= 0 && take_hexadecimal(line, out) &&
			starts_with(*line, " ");
	*line = skip_spaces(*line);
	return ok;
}

/** Add to `fresh`, unless it has no size, no name, or exceeds PERF_MAP_ENTRIES_MAX. */
static void add(struct perf_map *m, uint64_t start, uint64_t size, uint64_t name_at,
		size_t name_bytes) {
	uint64_t end;
	if (size > 0 && name_bytes > 0 && !__builtin_add_overflow(start, size, &end) &&
			m->current.n + m->fresh.n < PERF_MAP_ENTRIES_MAX) {
		LOWER_TO(name_bytes, PERF_MAP_NAME_MAX);
		struct perf_map_entry entry = {start, end, name_at, (uint32_t)name_bytes, m->n_lines};
		m->n_lines += vec_add(&m->fresh, entry);
	}
}

size_t perf_map_feed(struct perf_map *m, struct slice bytes, uint64_t at) {
	size_t done = 0;
	const uint8_t *newline;
	while (done < bytes.size &&
			(newline = memchr(bytes.data + done, '\n', bytes.size - done)) != NULL) {
		size_t end = (size_t)(newline - bytes.data);
		struct slice line = slice_of(bytes.data + done, end - done);
		uint64_t start, size;
		if (take_number(&line, &start) && take_number(&line, &size)) {
			add(m, start, size, at + end - line.size, line.size);
		}
		done = end + 1;
	}
	return done;
}

ORDER_OF(by_start, struct perf_map_entry, LOWEST(start) ?: LOWEST(number));

void perf_map_sort(struct perf_map *m) {
	struct perf_map_entries *f = &m->fresh;
	vec_sort(f, by_start);
	size_t kept = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct perf_map_entry entry = f->items[i];
		while (kept > 0 && f->items[kept - 1].end > entry.start &&
				f->items[kept - 1].number < entry.number) {
			kept--;
		}
		if (kept == 0 || f->items[kept - 1].end <= entry.start) {
			f->items[kept++] = entry;
		}
	}
	f->n = kept;
}

bool perf_map_merge(struct perf_map *m) {
	struct perf_map_entries merged = {0}, *old = &m->current, *fresh = &m->fresh;
	if (fresh->n == 0) {
		return true;
	}
	if (!vec_reserve(&merged, old->n + fresh->n)) {
		fresh->n = 0;
		return false;
	}
	size_t k = 0;
	EACH(entry, *fresh) {
		while (k < old->n && old->items[k].end <= entry->start) {
			merged.items[merged.n++] = old->items[k++];
		}
		while (k < old->n && old->items[k].start < entry->end) {
			k++; // overwritten
		}
		merged.items[merged.n++] = *entry;
	}
	while (k < old->n) {
		merged.items[merged.n++] = old->items[k++];
	}
	vec_finish(old);
	*old = merged;
	fresh->n = 0;
	return true;
}

const struct perf_map_entry *perf_map_find(const struct perf_map_entries *entries,
		uint64_t address) {
	const struct perf_map_entry *items = entries->items;
	size_t i = address == UINT64_MAX
			? entries->n
			: sorted_first_of(items, entries->n, sizeof *items, address + 1);
	return i > 0 && items[i - 1].end > address ? &items[i - 1] : NULL;
}

void perf_map_finish(struct perf_map *m) {
	CALL_FOR(vec_finish, m, current, fresh);
}

// ---- the records of a jitdump file

enum {
	MAGIC = 0x4a695444, // "JiTD"
	VERSION = 1,
	RECORD_HEADER_BYTES = 16,
	LOAD_BYTES = RECORD_HEADER_BYTES + 40, // before the name
	MOVE_BYTES = RECORD_HEADER_BYTES + 48,
};
enum { RECORD_LOAD = 0, RECORD_MOVE = 1 };

struct record {
	uint32_t id, bytes;
	struct cursor body; // what of it was read
};

bool jit_dump_is_of(struct slice header, uint32_t pid) {
	struct cursor c = cursor_init(header);
	uint32_t magic = cursor_u32(&c), version = cursor_u32(&c);
	uint32_t bytes = cursor_u32(&c);
	(void)cursor_u64(&c); // the machine, and nothing
	uint32_t its_pid = cursor_u32(&c);
	return !c.failed && magic == MAGIC && version == VERSION && bytes >= JIT_DUMP_HEADER_BYTES &&
			its_pid == pid;
}

/** Code that there is now, with its name; the code itself follows. */
static void load(struct perf_map *m, struct record *r, uint64_t at) {
	(void)cursor_u64(&r->body); // process and thread
	(void)cursor_u64(&r->body); // where it will be in memory, which is where it is
	uint64_t address = cursor_u64(&r->body), size = cursor_u64(&r->body);
	(void)cursor_u64(&r->body); // its number
	struct slice name = cursor_rest(&r->body);
	size_t n = name.size > 0 ? strnlen((const char *)name.data, name.size) : 0;
	add(m, address, size, at + LOAD_BYTES, n);
}

static const struct perf_map_entry *entry_at(const struct perf_map *m, uint64_t address) {
	for (size_t i = m->fresh.n; i > 0; i--) {
		if (m->fresh.items[i - 1].start == address) {
			return &m->fresh.items[i - 1];
		}
	}
	return perf_map_find(&m->current, address);
}

static void move(struct perf_map *m, struct record *r) {
	(void)cursor_u64(&r->body);
	(void)cursor_u64(&r->body);
	const struct perf_map_entry *old = entry_at(m, cursor_u64(&r->body));
	uint64_t address = cursor_u64(&r->body), size = cursor_u64(&r->body);
	if (old) {
		add(m, address, size, old->name_at, old->name_bytes);
	}
}

/** How much of a record must be there before it is understood. */
static size_t needed(uint32_t id, uint32_t record_bytes) {
	size_t n = id == RECORD_LOAD ? LOAD_BYTES + PERF_MAP_NAME_MAX
			: id == RECORD_MOVE  ? MOVE_BYTES
								 : RECORD_HEADER_BYTES;
	return n < record_bytes ? n : record_bytes;
}

/** The record at `done` of `bytes`. False: it is not whole yet, or none. */
static bool record_at(struct slice bytes, size_t done, uint64_t rest, struct record *out) {
	struct cursor c = cursor_init(slice_of(bytes.data + done, bytes.size - done));
	out->id = cursor_u32(&c);
	out->bytes = cursor_u32(&c);
	(void)cursor_u64(&c); // when
	size_t there = bytes.size - done;
	if (c.failed || out->bytes < RECORD_HEADER_BYTES || out->bytes > rest ||
			there < needed(out->id, out->bytes)) {
		return false;
	}
	there = there < out->bytes ? there : out->bytes;
	out->body = cursor_init(
			slice_of(bytes.data + done + RECORD_HEADER_BYTES, there - RECORD_HEADER_BYTES));
	return true;
}

uint64_t jit_dump_feed(struct perf_map *m, struct slice bytes, uint64_t at, uint64_t file_bytes) {
	uint64_t done = 0;
	if (at == 0) {
		struct cursor c = cursor_init(bytes);
		(void)cursor_u64(&c);
		done = cursor_u32(&c); // the header's own size
		if (c.failed || done < JIT_DUMP_HEADER_BYTES || done > file_bytes) {
			return 0;
		}
	}
	struct record r;
	while (done < bytes.size && record_at(bytes, (size_t)done, file_bytes - at - done, &r)) {
		if (r.id == RECORD_LOAD && r.bytes > LOAD_BYTES) {
			load(m, &r, at + done);
		} else if (r.id == RECORD_MOVE && r.bytes >= MOVE_BYTES) {
			move(m, &r);
		}
		done += r.bytes;
	}
	return done;
}
