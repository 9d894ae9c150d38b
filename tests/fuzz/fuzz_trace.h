// SPDX-License-Identifier: MIT
#pragma once

// What both fuzzers of the trace file do with one: read all of it, and hold the reader to its word

#include "base/err.h"
#include "trace/trace.h"

static inline bool fuzz_source_read(void *user, uint64_t at, void *out, size_t n, size_t *got,
		struct err *err) {
	(void)err;
	const struct slice *bytes = user;
	size_t left = at < bytes->size ? bytes->size - (size_t)at : 0;
	*got = n < left ? n : left;
	if (*got) {
		memcpy(out, bytes->data + at, *got);
	}
	return true;
}

static inline bool fuzz_take_events(void *user, const struct trace_event *events, size_t n) {
	const struct recording *r = user;
	for (size_t i = 0; i < n; i++) {
		check(events[i].kind >= TRACE_ALLOC && events[i].kind <= TRACE_THREAD_ENDED);
		check(!r || events[i].node < r->nodes.n);
	}
	return true;
}

static inline void fuzz_read(struct slice bytes) {
	enum { MAX_BYTES = 32 << 20 };
	struct trace_source src = {fuzz_source_read, bytes.size, &bytes};
	struct recording r = {0};
	struct trace_facts facts;
	struct err err = {0};
	bool ok = trace_read(&r, &facts, &src, MAX_BYTES, &err);
	check(ok ? recording_is_valid(&r, NULL) && r.arena.bytes <= MAX_BYTES
			 : err.code != ERR_NONE && err.text[0] && !r.arena.chunks);
	check(!ok || facts.good_bytes <= bytes.size);
	struct recording *nodes = ok ? &r : NULL;
	err = (struct err){0};
	check(trace_read_events(&src, nodes, fuzz_take_events, nodes, &err) || err.code != ERR_NONE);
	recording_finish(&r);
}
