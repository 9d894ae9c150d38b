// SPDX-License-Identifier: MIT
#pragma once
/**
 * Suppresses never freed blocks by the user's rules, one per line in LeakSanitizer's syntax:
 *
 *   leak:PATTERN    # and what follows a '#' at a line's start is a comment
 *
 * A pattern is part of the name of a function, a source file or a module of any frame of the stack,
 * inlined ones too; '*' matches anything, '^' and '$' match the ends. The first of several rules
 * wins; a caller's rule wins over its callees'.
 *
 * Suppressed blocks count as freed at the very end: they are in every figure except "never freed",
 * and their sum is kept separately.
 */

#include "trace/recording.h"

enum suppression_source {
	SUPPRESSION_FROM_FILE,
	SUPPRESSION_EMBEDDED, // built into the program: __lsan_default_suppressions()
	SUPPRESSION_BUILT_IN, // what system libraries keep on purpose
};

struct suppression {
	struct slice pattern;
	enum suppression_source source;
	uint64_t n_stacks; // that it covers, whatever they hold
	uint64_t blocks, bytes;
};

struct suppressions {
	struct arena arena;            // of the patterns
	VEC(struct suppression) rules; // in their order
	struct buffer complaints;      // a line for each invalid line
};

/** Add the rules of a text. Invalid lines go to `complaints`. */
void suppressions_add(struct suppressions *s, struct slice text, enum suppression_source source);

/** Add the rules of every recording. They are narrow: being loaded by dlopen suppresses nothing. */
void suppressions_add_built_in(struct suppressions *s);

/** Apply the rules to the recording and count what they match. Call once per recording. */
void suppressions_apply(struct suppressions *s, struct recording *r);

void suppressions_finish(struct suppressions *s);

/** For qsort: the order of r->suppressed. */
int suppressed_heaviest_first(const void *a, const void *b);

/** Does a pattern match a name? An empty one never does. */
bool suppression_matches(struct slice pattern, struct slice name);
