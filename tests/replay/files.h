// SPDX-License-Identifier: MIT
#pragma once

#include "replay/replay.h"

/**
 * Read a recording made with --events, and replay them. False: it cannot be read, or has not all of
 * them; `err` says so. `rec` is finished by the caller in both cases.
 */
bool replay_file(const char *path, struct replay *replay, struct recording *rec, struct err *err);
