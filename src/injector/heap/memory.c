// SPDX-License-Identifier: MIT

/* What all parts of the walk read the other process by. */

#include "injector/heap/walker.h"

#include <string.h>
#include <unistd.h>

bool heap_read(const struct heap_walker *w, uint64_t at, void *to, size_t bytes) {
	return pread(w->reader.memory, to, bytes, (off_t)at) == (ssize_t)bytes;
}

uint64_t heap_run_end(const struct heap_walker *w, uint64_t at) {
	uint64_t end = at;
	for (size_t i = 0; i < w->space->mappings.n; i++) {
		const struct mapping *m = &w->space->mappings.items[i];
		bool has_file = m->name[0] != '\0' && strcmp(m->name, "[heap]") != 0;
		if (m->start <= end && end < m->end && m->is_writable && !m->is_shared && !has_file) {
			end = m->end;
		}
	}
	return end;
}
