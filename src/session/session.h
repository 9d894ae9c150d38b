// SPDX-License-Identifier: MIT
#pragma once

/**
 * A recording opened for questions: found by what the user typed, read, named. Everything in it
 * lives until session_close.
 */

#include "engine/names.h"
#include "trace/trace.h"

struct session {
	char *path; // of the file that was opened
	struct recording recording;
	struct trace_facts facts;
	struct names *names;
};

/**
 * Open what `name` means: the file itself, or the recording that a name without its suffix stands
 * for ("lodestar.heapdump" opens lodestar.heapdump.zst). False: `err` says what is wrong with
 * which file, and names recordings nearby if none has that name.
 */
bool session_open(struct session *s, const char *name, struct err *err);

/** NULL, zeroed and half-opened sessions are fine. */
void session_close(struct session *s);
