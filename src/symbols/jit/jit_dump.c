// SPDX-License-Identifier: MIT
/* Reads the records of a jitdump file. */
#include "symbols/perf_map.h"

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
	struct cursor body; // as far as read
};

bool jit_dump_is_of(struct slice header, uint32_t pid) {
	struct cursor c = cursor_init(header);
	uint32_t magic = cursor_u32(&c), version = cursor_u32(&c), bytes = cursor_u32(&c);
	(void)cursor_u64(&c); // the machine, and padding
	uint32_t its_pid = cursor_u32(&c);
	return !c.failed && magic == MAGIC && version == VERSION && bytes >= JIT_DUMP_HEADER_BYTES &&
			its_pid == pid;
}

/** New code, with its name; the code itself follows. */
static void load(struct perf_map *m, struct record *r, uint64_t at) {
	(void)cursor_bytes(&r->body, 16); // process and thread; virtual address, equal to the next
	uint64_t address = cursor_u64(&r->body), size = cursor_u64(&r->body);
	(void)cursor_u64(&r->body); // its number
	struct slice name = cursor_rest(&r->body);
	size_t n = name.size > 0 ? strnlen((const char *)name.data, name.size) : 0;
	perf_map_add(m, address, size, at + LOAD_BYTES, n);
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
	(void)cursor_bytes(&r->body, 16);
	const struct perf_map_entry *old = entry_at(m, cursor_u64(&r->body));
	uint64_t address = cursor_u64(&r->body), size = cursor_u64(&r->body);
	if (old) {
		perf_map_add(m, address, size, old->name_at, old->name_bytes);
	}
}

/** How much of a record is needed to parse it. */
static size_t needed(uint32_t id, uint32_t record_bytes) {
	size_t n = id == RECORD_LOAD ? LOAD_BYTES + PERF_MAP_NAME_MAX
			: id == RECORD_MOVE  ? MOVE_BYTES
								 : RECORD_HEADER_BYTES;
	return n < record_bytes ? n : record_bytes;
}

/** The record at `done` in `bytes`. False: incomplete, or invalid. */
static bool record_at(struct slice bytes, size_t done, uint64_t rest, struct record *out) {
	struct cursor c = cursor_init(slice_of(bytes.data + done, bytes.size - done));
	out->id = cursor_u32(&c);
	out->bytes = cursor_u32(&c);
	(void)cursor_u64(&c); // time
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
