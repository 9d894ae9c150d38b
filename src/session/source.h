// SPDX-License-Identifier: MIT
#pragma once

/** The source text of files that a recording names, read on the machine where it is viewed. */

#include "base/buffer.h"
#include "base/err.h"
#include "trace/recording.h"

/**
 * Append the text of `file`, a string id of the recording. Only files that a frame names are
 * read, only regular ones of at most 4 MiB of text. `root` (may be NULL) is a folder to look in
 * first: for "/home/me/app/src/a.c" it is asked for home/me/app/src/a.c, then me/app/src/a.c, and
 * so on to a.c. False: `err` says what was looked for.
 */
bool source_read(const struct recording *r, uint32_t file, const char *root, struct buffer *out,
		struct err *err);
