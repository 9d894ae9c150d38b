// SPDX-License-Identifier: MIT
/* Reads lines of a perf map, and resolves addresses that were reused. */
#include "symbols/perf_map.h"

/** Take a hexadecimal number and the spaces after it. False: none, or too large. */
static bool take_number(struct slice *line, uint64_t *out) {
	bool ok = line->size > 0 && hex_digit(*line->data) >= 0 && take_hexadecimal(line, out) &&
			starts_with(*line, " ");
	*line = skip_spaces(*line);
	return ok;
}

void perf_map_add(struct perf_map *m, uint64_t start, uint64_t size, uint64_t name_at,
		size_t name_bytes) {
	uint64_t end;
	if (size > 0 && name_bytes > 0 && !__builtin_add_overflow(start, size, &end) &&
			m->current.n + m->fresh.n < PERF_MAP_ENTRIES_MAX) {
		LOWER_TO(name_bytes, PERF_MAP_NAME_MAX);
		struct perf_map_entry entry = {start, end, name_at, (uint32_t)name_bytes, m->n_lines};
		(void)vec_add(&m->fresh, entry);
		m->n_lines++;
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
			perf_map_add(m, start, size, at + end - line.size, line.size);
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

void perf_map_merge(struct perf_map *m) {
	struct perf_map_entries merged = {0}, *old = &m->current, *fresh = &m->fresh;
	if (fresh->n == 0) {
		return;
	}
	size_t k = 0;
	EACH(entry, *fresh) {
		for (; k < old->n && old->items[k].end <= entry->start; k++) {
			(void)vec_add(&merged, old->items[k]);
		}
		while (k < old->n && old->items[k].start < entry->end) {
			k++; // overwritten
		}
		(void)vec_add(&merged, *entry);
	}
	for (; k < old->n; k++) {
		(void)vec_add(&merged, old->items[k]);
	}
	vec_finish(old);
	*old = merged;
	fresh->n = 0;
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
