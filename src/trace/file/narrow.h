// SPDX-License-Identifier: MIT
#pragma once
/**
 * A state that fits a file which may not grow any more: totals stay exact, detail goes.
 */

#include "trace/tables/tables.h"

enum narrow_level {
	NARROW_TO_LOG,    // stacks end at the deepest caller that the log has
	NARROW_TO_STACKS, // and the time axis, sizes and threads' exchanges go
	NARROW_TO_TOTALS, // and all stacks become one
	N_NARROW_LEVELS,
};

/** Make `r` so, in place. `log`: what the log has; at least a row of each. Levels rise. */
void narrow(struct recording *r, const struct counts_row *log, enum narrow_level level);
