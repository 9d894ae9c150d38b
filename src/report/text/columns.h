// SPDX-License-Identifier: MIT
#pragma once
/** Text that lines up: widths count characters, not bytes.  */

#include "engine/names.h"

/** How many columns a text takes (UTF-8, one column per character). */
size_t columns_of(struct slice s);

/** `s` cut to `width` columns with "…" in its middle, padded on its right with spaces. */
void put_left(struct buffer *out, struct slice s, size_t width);

/** Padded on its left. Never cut: numbers are whole or wrong. */
void put_right(struct buffer *out, const char *text, size_t width);

void put_spaces(struct buffer *out, size_t n);

/** Drop the spaces that the last column of a line ends with. */
void trim_spaces(struct buffer *out);

/** As put_left, but cut at the end: for lists whose beginning matters. */
void put_cut_padded(struct buffer *out, struct slice s, size_t width);

/**
 * Where a function is: "app.cpp:20", its module, or nothing. A runtime's stacks are named after the
 * module, which then is not said twice.
 */
void put_place(struct buffer *out, const struct name *f);

/** "makeRow() app.cpp:12"; `label` where there is no name. */
void put_site(struct buffer *out, const struct name *name, struct slice label, struct arena *arena);

/** A paragraph: `first` before the first line, `indent` spaces before the others. */
void put_wrapped(struct buffer *out, const char *first, size_t indent, const char *text,
		size_t width);
