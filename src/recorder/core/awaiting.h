// SPDX-License-Identifier: MIT
#pragma once
/** Waits for the collector, no longer than it lives. Only while the switch is not off. */

#include "recorder/core/attr.h"

#include <stdbool.h>
#include <stdint.h>

/** False: there is no collector, or it is gone. */
COLD bool awaiting_has_collector(void);

/** False in a sandbox (segment_may_ask), and in a child of vfork. */
COLD bool awaiting_is_allowed(void);

/**
 * Wait until the collector, once asked, changes the shared `word` from `value` and wakes its
 * waiters; or for `most_ms`, or until it is gone.
 */
COLD void awaiting_change(_Atomic uint32_t *word, uint32_t value, uint32_t most_ms);

/**
 * Wait, at most `end_wait_ms` (wire/segment.h), for the collector to look at the program's memory.
 * `state`: SEGMENT_ENDING if this thread is about to end the program, else SEGMENT_LOOKING. Returns
 * at once if the collector does not look, in a child, and after the last look.
 */
void awaiting_look(uint32_t state);
