// SPDX-License-Identifier: MIT
#pragma once
/** Waiting for the collector, not longer than it lives. Only while the switch is not off. */

#include "recorder/core/attr.h"

#include <stdbool.h>
#include <stdint.h>

/** False: there is no collector, or it is gone. */
COLD bool awaiting_has_collector(void);

/** False in a sandbox (segment_may_ask), and in a child of vfork. */
COLD bool awaiting_is_allowed(void);

/**
 * The collector is asked: it changes the shared `word`, which is `value`, and wakes whoever waits
 * there. Return then, after `most_ms`, or when it is gone.
 */
COLD void awaiting_change(_Atomic uint32_t *word, uint32_t value, uint32_t most_ms);

/**
 * The calling thread is about to end the program: wait until the collector has looked at its
 * memory, for `end_wait_ms` at most (wire/segment.h). Returns at once if it does not ask for that,
 * in a child, and from the second call on.
 */
void awaiting_last_look(void);
