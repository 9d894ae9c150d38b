// SPDX-License-Identifier: MIT
#pragma once
/**
 * Rounds a sampled recording to whole blocks.
 *
 * docs/trace-format.md, "What reader 2 knows".
 */

#include "trace/recording.h"

/**
 * From a file's sixteenths of blocks to whole ones, in all tables that agree with each other. Needs
 * no valid recording. False: no memory.
 */
bool sampled_to_whole(struct recording *r);
