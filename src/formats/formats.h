// SPDX-License-Identifier: MIT
#pragma once

/**
 * The encoders and decoders of this folder, but KDE's (heaptrack.h). Encoders append to `out` and
 * fail only for lack of memory or where a format cannot say what is asked. Decoders fill a profile
 * whose memory is all in `arena`; they take any bytes, and set `known` to what the file says.
 * docs/exports.md has a table of what each format keeps.
 */

#include "base/buffer.h"
#include "base/err.h"
#include "formats/profile.h"

/** Collapsed stacks: "main;parse;operator new 4096", root first, equal lines made one. */
bool folded_encode(struct buffer *out, const struct profile *p, enum profile_value value,
		struct err *err);

/** profile.proto, not compressed. `shown`: the value that viewers start with. */
bool pprof_encode(struct buffer *out, const struct profile *p, enum profile_value shown,
		struct err *err);

struct massif_options {
	double threshold_percent; // smaller branches are gathered
	uint32_t detailed_every;  // every so many snapshots have a tree; 0: the peak alone
};
enum { MASSIF_SNAPSHOTS = 100 };
bool massif_encode(struct buffer *out, const struct profile *p,
		const struct massif_options *options, struct err *err);

/** One profile per value, the one of `shown` first. */
bool speedscope_encode(struct buffer *out, const struct profile *p, enum profile_value shown,
		struct err *err);

/** The processed format of the Firefox Profiler, version 48, with native allocations. */
bool firefox_encode(struct buffer *out, const struct profile *p, struct err *err);

/** DHAT's JSON, version 2, with lifetimes in µs. */
bool dhat_encode(struct buffer *out, const struct profile *p, struct err *err);

bool callgrind_encode(struct buffer *out, const struct profile *p, enum profile_value shown,
		struct err *err);

/** Our own: RFC 4180, a line per stack; and JSON, version 1. */
bool csv_encode(struct buffer *out, const struct profile *p, struct err *err);
bool json_profile_encode(struct buffer *out, const struct profile *p, struct err *err);

/** A gzip member. */
bool gzip_encode(struct buffer *out, struct slice in, struct err *err);

/** Are these the first bytes (some kilobytes) of such a file, unpacked? */
bool folded_knows(struct slice head);
bool pprof_knows(struct slice head);
bool heap_dump_knows(struct slice head);
bool massif_knows(struct slice head);
bool dhat_knows(struct slice head);
bool v8_heap_profile_knows(struct slice head);

/** What the numbers are is not said in the file: `value` says it. */
bool folded_decode(struct profile *out, struct slice in, enum profile_value value,
		struct arena *arena, struct err *err);

/** Not compressed. Values that have nothing to do with a heap are left out; there must be others. */
bool pprof_decode(struct profile *out, struct slice in, struct arena *arena, struct err *err);

/**
 * The text of gperftools' heap profiler, of tcmalloc's sampler and of jemalloc (heap_v2). What was
 * sampled is scaled up here, once per record, as the writers mean it. Frames are addresses.
 */
bool heap_dump_decode(struct profile *out, struct slice in, struct arena *arena, struct err *err);

/** The tree of the peak, and of the last snapshot if it has one. */
bool massif_decode(struct profile *out, struct slice in, struct arena *arena, struct err *err);

bool dhat_decode(struct profile *out, struct slice in, struct arena *arena, struct err *err);

/** node --heap-prof, Chrome's allocation sampling: what lived at the end, already scaled. */
bool v8_heap_profile_decode(struct profile *out, struct slice in, struct arena *arena,
		struct err *err);
