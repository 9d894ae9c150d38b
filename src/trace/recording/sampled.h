// SPDX-License-Identifier: MIT
#pragma once

/**
 * Sampled recordings: docs/trace-format.md, "What reader 2 knows". Private to this folder.
 */

#include "trace/recording.h"

/**
 * From a file's sixteenths of blocks to whole ones, in all tables that agree with each other. Needs
 * no valid recording. False: no memory.
 */
bool sampled_to_whole(struct recording *r);
