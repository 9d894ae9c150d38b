// SPDX-License-Identifier: MIT
#pragma once
/**
 * Suppresses blocks that were never freed, by the user's rules. These are in the syntax of
 * LeakSanitizer, one per line:
 *
 *   leak:PATTERN    # and what follows a '#' at a line's start is a comment
 *
 * A pattern is part of the name of a function, a source file or a module of any frame, inlined
 * ones too, anywhere in the stack; '*' stands for anything, '^' and '$' for its two ends. Of
 * several rules the first wins; a caller's rule wins over that of what it calls.
 *
 * Suppressed blocks count as freed at the very end: they are in every figure except "never freed",
 * and their sum is kept separately.
 */

#include "trace/recording.h"

enum suppression_source {
	SUPPRESSION_FROM_FILE,
	SUPPRESSION_EMBEDDED, // brought by the program: __lsan_default_suppressions()
	SUPPRESSION_BUILT_IN, // what the system's libraries keep on purpose
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
	struct buffer complaints;      // a line each for lines that are no rules
};

/** The rules of a text. Lines that are none go to `complaints`. */
void suppressions_add(struct suppressions *s, struct slice text, enum suppression_source source);

/** Those that every recording has. Narrow: nothing is suppressed for being loaded by dlopen. */
void suppressions_add_built_in(struct suppressions *s);

/** Change the recording, and count in the rules. Once per recording. */
void suppressions_apply(struct suppressions *s, struct recording *r);

void suppressions_finish(struct suppressions *s);

/** For qsort: the order of r->suppressed. */
int suppressed_heaviest_first(const void *a, const void *b);

/** Does a pattern match a name? Never an empty one. */
bool suppression_matches(struct slice pattern, struct slice name);
