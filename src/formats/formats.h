// SPDX-License-Identifier: MIT
#pragma once
/**
 * The encoders and decoders of this folder, except KDE's (heaptrack.h). Encoders append to `out`
 * and fail only for lack of memory or a request that the format cannot express. Decoders are safe
 * for any bytes, and set `known` to what the file has. docs/exports.md lists what formats keep.
 */

#include "formats/profile.h"

struct massif_options {
	double threshold_percent; // smaller branches are merged
	bool is_of_pages;         // counts mappings, not blocks
	uint32_t detailed_every;  // one snapshot in this many has a tree; 0: only the peak
};

/** What a format may need besides the profile. */
struct write_options {
	enum profile_value shown; // first in viewers; the only one in formats with one number
	struct massif_options massif;
};
typedef bool profile_writer(struct buffer *out, const struct profile *p,
		const struct write_options *options, struct err *err);

/**
 * WRITER(ID, name of the format, usual suffix, what it is and who reads it): all that a format
 * needs besides ID_encode() in write/. With suffix ".gz" the output is compressed afterwards.
 * --export, its help, manual and completion come from these rows (export/export.h).
 */
#define PROFILE_WRITERS(WRITER)                                                            \
	WRITER(pprof, "pprof", ".pb.gz",                                                       \
			"profile.proto, for go tool pprof, Grafana Pyroscope and Speedscope")          \
	WRITER(folded, "folded", ".folded",                                                    \
			"collapsed stacks by the lens's metric, for flamegraph.pl and inferno")        \
	WRITER(speedscope, "speedscope", ".speedscope.json", "for https://www.speedscope.app") \
	WRITER(firefox, "firefox", ".json.gz",                                                 \
			"for https://profiler.firefox.com, with what each range of time retained")     \
	WRITER(massif, "massif", ".massif", "for ms_print and massif-visualizer")              \
	WRITER(dhat, "dhat", ".dhat.json", "for valgrind's dh_view.html")                      \
	WRITER(callgrind, "callgrind", ".callgrind", "for KCachegrind and callgrind_annotate") \
	WRITER(csv, "csv", ".csv", "a line per stack, for spreadsheets")                       \
	WRITER(json_profile, "json", ".json", "all stacks with all numbers, for programs")

#define DECLARE_WRITER(id, ...) profile_writer id##_encode;
PROFILE_WRITERS(DECLARE_WRITER)
#undef DECLARE_WRITER

/** The numbers' names in profile.proto, in the order in which they are written. */
extern const struct pprof_type {
	enum profile_value value;
	const char *type, *unit;
} pprof_types[N_PROFILE_VALUES];

/** Do the first kilobytes, uncompressed, look like such a file? */
bool folded_knows(struct slice head);
bool pprof_knows(struct slice head);
bool heap_dump_knows(struct slice head);
bool massif_knows(struct slice head);
bool dhat_knows(struct slice head);
bool v8_heap_profile_knows(struct slice head);

/** The file does not say what its numbers are: they are taken for bytes at the peak. */
profile_decoder folded_decode;

/** Uncompressed. Drops values that have nothing to do with a heap; there must be others. */
profile_decoder pprof_decode;

/**
 * The text format of gperftools' heap profiler, tcmalloc's sampler and jemalloc (heap_v2). Samples
 * are scaled up here, once per record, as the writers intend. Frames are addresses.
 */
profile_decoder heap_dump_decode;

/** The tree of the peak, and of the last snapshot, if any. */
profile_decoder massif_decode;

profile_decoder dhat_decode;

/** node --heap-prof, Chrome's allocation sampling: live blocks at the end, already scaled. */
profile_decoder v8_heap_profile_decode;
