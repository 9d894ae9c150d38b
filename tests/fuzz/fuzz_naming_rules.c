// SPDX-License-Identifier: MIT
#include "engine/naming_rules.h"

#include <stdlib.h>

/** Every line is a rule, a comment or a complaint; every rule finds its own pattern. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct naming_rules rules = {0};
	struct arena arena = {0};
	struct buffer complaints = {0};
	naming_rules_parse(&rules, slice_of(data, size), "rc", &arena, &complaints);
	EACH(r, rules) {
		struct slice none = {0};
		if (r->pattern.size == 0 ||
				(r - rules.items < 100 && !naming_rules_find(&rules, r->pattern, none, none))) {
			abort();
		}
	}
	if (size == 0 && (rules.n || complaints.size)) {
		abort();
	}
	vec_finish(&rules);
	buffer_finish(&complaints);
	arena_finish(&arena);
	return 0;
}
