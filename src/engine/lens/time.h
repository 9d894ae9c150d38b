// SPDX-License-Identifier: MIT
#pragma once

/** The ends of a lens's range of time, as text. */

#include "base/buffer.h"
#include "engine/lens.h"

/** The value of a lens's `t`. Private to the lens. */

/** Set the range of `l`. False: `err` says what is wrong. */
bool lens_time_parse(struct lens *l, struct slice text, const struct recording *r, struct err *err);

/** The shortest text that stands for the range. */
void lens_time_put(struct buffer *out, const struct lens *l, const struct recording *r);
