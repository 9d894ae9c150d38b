// SPDX-License-Identifier: MIT
#pragma once

#include "replay/replay.h"

/**
 * Read a recording made with --events, and hand them to `each`. False: it cannot be read, or has
 * not all of them; `err` says so. `rec` is finished by the caller in both cases.
 */
bool replay_read(const char *path, trace_each_events *each, void *user, struct recording *rec,
		struct err *err);

/** The same, to replay them. */
bool replay_file(const char *path, struct replay *replay, struct recording *rec, struct err *err);
