// SPDX-License-Identifier: MIT
#pragma once
/**
 * Makes findings, the sentences about a recording. They are made once, here, for the report, the
 * page, the terminal and JSON. A finding states what was measured, its figures, the function it is
 * about and the lens that shows it. An unsure rule says nothing. docs/findings.md describes all.
 */

#include "engine/names.h"

enum finding_severity {
	FINDING_FACT,       // good to know; asks for nothing
	FINDING_EXPLAINS,   // says where memory is; the usual
	FINDING_WORTH_IT,   // fixing it would be noticed
	FINDING_LOOK_FIRST, // what the recording was opened for
};

struct finding_number {
	const char *name; // with its unit: "bytes", "lasted_ns", "rate_bytes_per_s"
	uint64_t value;
};

enum { FINDING_NUMBERS_MAX = 16 };

struct finding {
	const char *id;    // of its rule, for scripts: "peak", "never-freed", "growing", "churn", ...
	const char *title; // for a card or the beginning of a line: "never freed"
	const char *text;  // one sentence without the title; ends in a full stop
	const char *lens;  // text of the lens that shows it (lens.h); "": everything
	const struct name *function; // what it is about; NULL: no function in particular
	const char *place;           // "demo.cpp:37", else the module's name; "" without a function
	enum finding_severity severity;
	uint64_t weight; // within a severity: what it is about, in millionths of the whole
	uint32_t number; // in the order of finding; breaks ties
	bool is_quality; // already among the quality lines
	uint32_t n_numbers;
	struct finding_number numbers[FINDING_NUMBERS_MAX];
};

struct findings {
	const struct finding *items; // most important first
	uint32_t n;
	uint64_t noise_bytes, noise_blocks; // never freed by the runtime itself; in no finding
};

/** Everything lives in `arena`, or in the recording and the names. */
struct findings findings_make(const struct recording *r, const struct names *n,
		struct arena *arena);

/** The number with that name, or 0. */
uint64_t finding_number(const struct finding *f, const char *name);

// ---- quality lines, shown above the figures because they affect them
//
// One sentence each; none if the recording is complete. Each says what was measured and what it
// means, with the number.

struct quality_line {
	const char *id;   // stable, for scripts: "lost-events", ...
	const char *text; // for people; no trailing stop
	uint64_t value;   // the number it is about
};

enum { QUALITY_LINES_MAX = 16 };

/** "recording complete", or "incomplete: " and the first reason; "" for other programs' files. */
enum { QUALITY_VERDICT_MAX = 96 };
const char *quality_verdict(const struct recording *r, char out[QUALITY_VERDICT_MAX]);
#define QUALITY_VERDICT(r) quality_verdict((r), (char[QUALITY_VERDICT_MAX]){0})

/** An id of enum rec_why, or words after "which" ("is linked statically"). NULL: not known. */
const char *quality_why_id(uint32_t why);
const char *quality_why(uint32_t why);

/** The sentence for a meta.old_unknown other than REC_OLD_KNOWN. */
enum { QUALITY_OLD_MAX = 192 };
const char *quality_why_old(const struct rec_meta *m, char out[QUALITY_OLD_MAX]);

/**
 * The sentence on processes that a launcher started before it became the program: a fact, not a
 * quality line. Returns how many; 0: none, or they may matter.
 */
uint64_t quality_minor_children(const struct recording *r, struct buffer *text);

/** Fills `out`, most important first, and returns the number of lines. Texts live in `arena`. */
size_t quality_lines(const struct recording *r, const struct names *n, struct arena *arena,
		struct quality_line out[QUALITY_LINES_MAX]);

/**
 * "node maps memory for JavaScript's objects itself; node --heap-prof ...". False: not known to.
 */
enum { RUNTIME_FLAG_MAX = 160 };
bool runtime_own_memory(struct slice exe, char out[RUNTIME_FLAG_MAX]);

/**
 * How to give names to the functions that such a program runs: "start it as node --perf-basic-prof
 * --interpreted-frames-native-stack". *language: theirs. False: no way is known.
 */
bool runtime_naming_flag(struct slice exe, const char **language, char out[RUNTIME_FLAG_MAX]);

// ---- what the page's JSON and --json share
//
// The caller has opened an object.

/** Raise it when --json gains a key: tests/layers/json_keys.txt lists the keys of each schema. */
enum { DOCUMENT_SCHEMA = 11 };

/** The first members of a document: version, which never changes, and schema. */
void document_put_version(struct json *j);

/** Members of an object: function, symbol, file, line, module; for a place address, owner. */
void name_put_json(struct json *j, const struct name *f, const struct rec_location *at);

/** A list with name and moment of every mark. */
void marks_put_json(struct json *j, const struct recording *r);

/** "processes": those of a tree. */
void processes_put_json(struct json *j, const struct recording *r);

/** What a recording says besides its costs. */
struct facts {
	struct json *j;
	const struct recording *r;
	const struct names *names;
	struct arena *arena;
	uint32_t missing; // the numbers that are null (bits of enum rec_number)
	bool is_redacted; // paths reduced to their last part; no command, directory or host
};

/** Members program, summary, quality and findings. */
void facts_put_first(const struct facts *f, const struct findings *findings);

/** Members marks, allocators and children. */
void facts_put_last(const struct facts *f);
