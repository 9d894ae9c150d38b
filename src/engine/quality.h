// SPDX-License-Identifier: MIT
#pragma once
/**
 * Makes quality lines, which are shown above the figures because they affect them. They are one
 * sentence each, none if the recording is complete. Each says what was measured and what it means,
 * with the number.
 */

#include "engine/names.h"

struct quality_line {
	const char *id;   // stable, for scripts: "lost-events", ...
	const char *text; // for people; no trailing stop
	uint64_t value;   // the number it is about
};

enum { QUALITY_LINES_MAX = 16 };

/**
 * For a report's first line: "recording whole", or "incomplete: " and the first reason. "" for a
 * file of another program, which does not tell.
 */
enum { QUALITY_VERDICT_MAX = 96 };
const char *quality_verdict(const struct recording *r, char out[QUALITY_VERDICT_MAX]);

/**
 * Why a process or image was not recorded (enum rec_why): an id for scripts, and what may follow
 * "which" ("is linked statically"). NULL: nothing is known.
 */
const char *quality_why_id(uint32_t why);
const char *quality_why(uint32_t why);

/** The sentence for a meta.old_unknown that is not REC_OLD_KNOWN. */
enum { QUALITY_OLD_MAX = 192 };
const char *quality_why_old(const struct rec_meta *m, char out[QUALITY_OLD_MAX]);

/**
 * The sentence on processes that a launcher started before it became the program: they are a fact,
 * and no line of quality. How many; 0: there are none, or they may matter.
 */
uint64_t quality_minor_children(const struct recording *r, struct buffer *text);

/** Fills `out`, most important first; the number of lines. Texts live in `arena`. */
size_t quality_lines(const struct recording *r, const struct names *n, struct arena *arena,
		struct quality_line out[QUALITY_LINES_MAX]);

/**
 * "node maps memory for JavaScript's objects itself; node --heap-prof tells of them". False: of
 * that program nothing like it is known.
 */
enum { RUNTIME_FLAG_MAX = 160 };
bool runtime_own_memory(struct slice exe, char out[RUNTIME_FLAG_MAX]);

/**
 * How the functions get names that such a program runs: "start it as node --perf-basic-prof
 * --interpreted-frames-native-stack". `language` is theirs. False: nothing is known that does.
 */
bool runtime_naming_flag(struct slice exe, const char **language, char out[RUNTIME_FLAG_MAX]);
