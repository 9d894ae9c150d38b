// SPDX-License-Identifier: MIT
#pragma once

/** Standard input, made readable more than once. */

#include "base/err.h"

/**
 * A path from which all of standard input can be read repeatedly: the redirected file itself, or an
 * unnamed file in $TMPDIR that disappears with the process. The first call waits for the input; all
 * calls return the same path. NULL: `err` says why.
 */
const char *spool_stdin(struct err *err);
