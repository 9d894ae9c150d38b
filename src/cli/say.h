// SPDX-License-Identifier: MIT
#pragma once
/**
 * All output for people.
 *
 * It goes through these functions, so that names of functions and files cannot contain terminal
 * control sequences (base/visible.h). Help texts and figures need not.
 */

#include "base/base.h"

/** Our own lines with names in them. */
void say(FILE *to, const char *fmt, ...) ATTR_PRINTF(2, 3);

/** "WHO: SENTENCE", one line on stderr whatever is in it. */
void say_problem(const char *who, const char *fmt, ...) ATTR_PRINTF(2, 3);

/** A text of many lines. False: it could not be written, errno says why. */
bool say_text(FILE *to, struct slice text);
