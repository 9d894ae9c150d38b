// SPDX-License-Identifier: MIT
#pragma once
/**
 * The user's rules about whose code a frame is: --fold and .heaptrackrc. A rule is a line
 *
 *   yours PATTERN      the user's own code, whatever it looks like
 *   library PATTERN    a dependency: folded, names a site only where nothing better does
 *   fold PATTERN       folded, and never names a site (allocation wrappers)
 *
 * '#' begins a comment. A frame matches if its function, its file or its module's path contains the
 * pattern; '*' matches anything. The first rule that matches decides.
 */

#include "base/base.h"

enum naming_kind { NAMING_YOURS, NAMING_LIBRARY, NAMING_FOLD };

struct naming_rule {
	enum naming_kind kind;
	struct slice pattern;
};

struct naming_rules { // zeroed: none
	VEC(struct naming_rule);
};

/** Append a rule. The pattern is copied into `arena`. */
void naming_rules_add(struct naming_rules *rules, enum naming_kind kind, struct slice pattern,
		struct arena *arena);

/** Append the rules of the file `name`. The first few invalid lines are reported in complaints. */
void naming_rules_parse(struct naming_rules *rules, struct slice text, const char *name,
		struct arena *arena, struct buffer *complaints);

/** The first rule that matches any of the three, or NULL. */
const struct naming_rule *naming_rules_find(const struct naming_rules *rules, struct slice function,
		struct slice file, struct slice module);
