// SPDX-License-Identifier: MIT
#pragma once

#include "base/attr.h"
#include "base/buffer.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/**
 * What people read on a terminal: all of it goes through here, so that no name of a function or a
 * file makes the terminal do anything (base/visible.h). Help and figures of ours need not.
 */

/** Lines of ours with names in them. */
void say(FILE *to, const char *fmt, ...) ATTR_PRINTF(2, 3);

/** "WHO: SENTENCE", one line on stderr whatever is in it. */
void say_problem(const char *who, const char *fmt, ...) ATTR_PRINTF(2, 3);
void say_problem_with(const char *who, const char *fmt, va_list args) ATTR_PRINTF(2, 0);

/** A text of many lines. False: it could not be written, errno says why. */
bool say_text(FILE *to, struct slice text);
