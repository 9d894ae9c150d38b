// SPDX-License-Identifier: MIT
#pragma once

#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

/**
 * Hold a futex word as a robust lock until the calling thread dies: the word is its thread id, and
 * when the thread is gone, however it went, the kernel sets FUTEX_OWNER_DIED in it (and wakes, if
 * FUTEX_WAITERS was set). One word per process, to be held by its first thread for good: the
 * thread can use no robust pthread mutexes any more. False: the system refused.
 */
bool robust_hold(_Atomic uint32_t *word, struct err *err);

/** Let go of it, in the same thread: the word is 0 afterwards. */
void robust_release(_Atomic uint32_t *word);
