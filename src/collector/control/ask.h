// SPDX-License-Identifier: MIT
#pragma once

/** Ask a recording through its control socket. */

#include "base/buffer.h"
#include "collector/control/find.h"

/**
 * Send a line (without its end) and append the lines of the answer, without the first, which is looked at here. Waits 10 s at
 * most. False: `err`; ERR_NOT_FOUND if nobody listens there any more.
 */
bool control_ask(const struct control_found *at, const char *line, struct buffer *answer,
		struct err *err);
