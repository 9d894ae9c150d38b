// SPDX-License-Identifier: MIT
#pragma once
/**
 * The encoders and decoders of this folder, but KDE's (heaptrack.h). Encoders append to `out` and
 * fail only for lack of memory or where a format cannot say what is asked. Decoders take any bytes,
 * and set `known` to what the file says. docs/exports.md has a table of what each format keeps.
 */

#include "formats/profile.h"

struct massif_options {
	double threshold_percent; // smaller branches are gathered
	bool is_of_pages;         // what lives are mappings, not blocks
	uint32_t detailed_every;  // every so many snapshots have a tree; 0: the peak alone
};

/** What a format may need to know besides the profile. */
struct write_options {
	enum profile_value shown; // viewers start with it; of a format with one number, that one
	struct massif_options massif;
};
typedef bool profile_writer(struct buffer *out, const struct profile *p,
		const struct write_options *options, struct err *err);

/**
 * WRITER(ID, name of the format, usual suffix of its files, what it is and who reads it): a row is
 * all that a format needs besides write/, where ID_encode() is. Those with the suffix ".gz" are
 * packed afterwards. --export, its help, its manual and its completion come from these rows
 * (export/export.h).
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

/** What the numbers are in profile.proto, in the order in which we write them. */
extern const struct pprof_type {
	enum profile_value value;
	const char *type, *unit;
} pprof_types[N_PROFILE_VALUES];

/** Are these the first bytes (some kilobytes) of such a file, unpacked? */
bool folded_knows(struct slice head);
bool pprof_knows(struct slice head);
bool heap_dump_knows(struct slice head);
bool massif_knows(struct slice head);
bool dhat_knows(struct slice head);
bool v8_heap_profile_knows(struct slice head);

/** What the numbers are is not said in the file: they are taken for bytes at the peak. */
profile_decoder folded_decode;

/**
 * Not compressed. Values that have nothing to do with a heap are left out; there must be others.
 */
profile_decoder pprof_decode;

/**
 * The text of gperftools' heap profiler, of tcmalloc's sampler and of jemalloc (heap_v2). What was
 * sampled is scaled up here, once per record, as the writers mean it. Frames are addresses.
 */
profile_decoder heap_dump_decode;

/** The tree of the peak, and of the last snapshot if it has one. */
profile_decoder massif_decode;

profile_decoder dhat_decode;

/** node --heap-prof, Chrome's allocation sampling: what lived at the end, already scaled. */
profile_decoder v8_heap_profile_decode;
