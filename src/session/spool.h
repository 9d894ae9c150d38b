// SPDX-License-Identifier: MIT
#pragma once

#include "base/err.h"

/**
 * A path under which all that comes through standard input can be read, as often as one likes: a file
 * that was redirected itself, else one in $TMPDIR that has no name and is gone with the process. The
 * input is waited for at the first call; all calls give the same. NULL: `err` says why.
 */
const char *spool_stdin(struct err *err);
