// SPDX-License-Identifier: MIT
#pragma once
/**
 * Matches names against a lens. The result says which frames it selects, focuses on or hides. Each
 * function and each module is matched once per text.
 */

#include "engine/lens.h"

enum { LENS_TEXTS_MAX = 30 };

enum lens_frame {
	LENS_IS_FOCUS = 1,
	LENS_IS_HIDDEN = 2,
};

struct lens_match {
	uint32_t *locations; // per location: bit i: one of its frames holds texts[i]; or NULL: no texts
	uint8_t *functions;  // per name.function_id: enum lens_frame; or NULL: no focus, nothing hidden
};

/** False: no memory. All in the arena. */
bool lens_match_names(const struct lens *l, const struct recording *r, const struct names *n,
		struct arena *arena, struct lens_match *out, struct err *err);

/** An extended regular expression that compiles? False: `err` says what is wrong with it. */
bool lens_pattern_is_valid(struct slice pattern, struct err *err);

/** enum lens_frame of a frame. */
static inline unsigned lens_frame_of(const struct lens_match *m, const struct name *frame) {
	return m->functions ? m->functions[frame->function_id] : 0;
}

/** Does this function go by that name? See lens.h. */
bool lens_is_named(struct slice function, struct slice name);
