// SPDX-License-Identifier: MIT
#pragma once

/** Joins the stacks of all threads, for queries that do not distinguish threads. */

#include "base/err.h"
#include "trace/recording.h"

/**
 * The recording with one stack per node, for all threads together. A shallow copy, whose stacks
 * live in `arena`; it has no intervals, sizes, lifetimes or untouched bytes, because those name
 * stacks by their rows. False: no memory.
 */
bool recording_by_node(const struct recording *r, struct arena *arena, struct recording *out,
		struct err *err);
