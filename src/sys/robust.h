// SPDX-License-Identifier: MIT
#pragma once

/** A lock that the kernel marks as orphaned when its thread dies. */

#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

/**
 * Hold a futex word as a robust lock until the calling thread dies: the word is its thread id, and
 * when the thread is gone for whatever reason, the kernel sets FUTEX_OWNER_DIED in it (and wakes,
 * if FUTEX_WAITERS was set). One word per process, held permanently by its first thread, which can
 * no longer use robust pthread mutexes. False: the system call failed.
 */
bool robust_hold(_Atomic uint32_t *word, struct err *err);

/** Let go of it, in the same thread: the word is 0 afterwards. */
void robust_release(_Atomic uint32_t *word);
