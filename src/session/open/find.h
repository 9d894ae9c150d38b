// SPDX-License-Identifier: MIT
#pragma once

/** Finding the recording that a name stands for. */

#include "base/err.h"

/**
 * The path of the recording that `name` means (malloc'ed, the caller frees it): `name` itself if
 * it exists, else name.zst, else name.gz. NULL: ERR_NOT_FOUND, and the message lists the recordings
 * of that folder whose names are near.
 */
char *find_recording(const char *name, struct err *err);
