// SPDX-License-Identifier: MIT
#pragma once
/**
 * Untrusted text for a terminal. Names of functions and files can contain anything: terminal
 * control sequences, marks that change the direction of text, invalid UTF-8. These become escapes
 * such as \x1b, \n, \u202e and \xff; everything else is unchanged, including backslashes.
 */

#include "base/buffer.h"

#include <stdbool.h>

/** Would visible_put change this? */
bool visible_differs(struct slice text);

/** Append `text`, a name or a sentence: line breaks and tabs are escaped, too. */
void visible_put(struct buffer *out, struct slice text);

/** Append `text`, our own lines with names in them: '\n' is kept. */
void visible_put_lines(struct buffer *out, struct slice text);

/** A path or another name, as long as its block lasts; cut to two of the longest paths. */
enum { VISIBLE_NAME_MAX = 2 * 4640 };
#define VISIBLE_NAME(name) visible_name((char[VISIBLE_NAME_MAX]){0}, VISIBLE_NAME_MAX, (name))

/** The same, cut to `size` - 1 bytes. Returns `out`. */
const char *visible_name(char *out, size_t size, const char *name);
