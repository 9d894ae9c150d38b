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
 * Wait until the collector has looked at the program's memory, for `end_wait_ms` at most
 * (wire/segment.h). `state`: SEGMENT_ENDING if the calling thread is about to end the program, else
 * SEGMENT_LOOKING. Returns at once if the collector does not look, in a child, and after the last
 * look.
 */
void awaiting_look(uint32_t state);
