// SPDX-License-Identifier: MIT
#pragma once

/**
 * Text of others for a terminal. Names of functions and files may hold anything: sequences that a
 * terminal obeys, marks that turn the direction of a line, bytes that are no text. These become
 * escapes such as \x1b, \n, \u202e and \xff; all else stays as it is, backslashes too.
 */

#include "base/buffer.h"

#include <stdbool.h>

/** Would visible_put change this? */
bool visible_differs(struct slice text);

/** Append `text`, a name or a sentence: line ends and tabs are escaped too. */
void visible_put(struct buffer *out, struct slice text);

/** Append `text`, lines of ours with names in them: '\n' stays. */
void visible_put_lines(struct buffer *out, struct slice text);

/** A path or another name, cut to `size` - 1 bytes. Returns `out`. */
const char *visible_name(char *out, size_t size, const char *name);
