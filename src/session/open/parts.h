// SPDX-License-Identifier: MIT
#pragma once
/** What opening a recording takes: its path, or standard input. */

#include "base/base.h"

/**
 * The path of the recording that `name` means (the caller frees it): name.zst or name.gz, unless
 * `name` itself is a recording, else `name`. NULL: ERR_NOT_FOUND, and the message lists similar
 * names in that folder.
 */
char *find_recording(const char *name, struct err *err);

/**
 * A path from which all of standard input can be read repeatedly: the redirected file itself, or an
 * unnamed file in $TMPDIR that disappears with the process. The first call waits for the input; all
 * calls give the same path (the caller frees it). NULL: `err` says why.
 */
char *spool_stdin(struct err *err);
