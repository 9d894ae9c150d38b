// SPDX-License-Identifier: MIT
#pragma once
/**
 * Symbolizes the locations of stacks, and reads suppressions, while the program runs.
 *
 * A low-priority thread does this module by module, in batches that grow with the cost of a module;
 * the caller's thread distributes the work and puts the results into the tables. A file
 * that is copied during a recording therefore contains symbols, and little is left to do at the
 * end.
 *
 * All functions: one thread, that of the caller.
 */

#include "collector/names/modules.h"
#include "collector/segment/tries.h"

struct namer;

struct namer_frames {
	VEC(struct rec_frame);
};

struct namer *namer_create(struct modules *modules, struct texts *texts, struct err *err);
void namer_destroy(struct namer *n);

/** Frames that locations point into. The array moves when it grows. */
const struct namer_frames *namer_frames(const struct namer *n);

/**
 * Put the results into `t`'s locations, and start more work. Never waits. `is_last`: nothing more
 * will be added, so do not limit the work any longer.
 */
void namer_step(struct namer *n, struct tries *t, uint64_t now_ns, bool is_last);

/** Name a location of generated code: `name` is a text's id, from namer_text. */
void namer_put(struct namer *n, struct rec_location *location, uint32_t name);
uint32_t namer_text(struct namer *n, struct slice text);

/** Locations that still wait for their names. */
size_t namer_pending(const struct namer *n);

/** Sleep until there is something to take, at most `timeout_ns`. */
void namer_wait(struct namer *n, uint64_t timeout_ns);
