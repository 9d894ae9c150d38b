// SPDX-License-Identifier: MIT
#pragma once
/** Waiting until another thread or process changes a word, and detecting a thread's death. */

#include "base/base.h"

#include <stdatomic.h>

/**
 * Sleep while *word == expected, at most `timeout_ns`. Returns on a wake, a change, a signal or the
 * timeout, and sometimes spuriously: check the word again. Works across processes.
 */
void futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);

/** Wake up to `n` sleepers, of any process that maps the word. */
void futex_wake(_Atomic uint32_t *word, int n);

/**
 * Hold a futex word as a robust lock until the calling thread dies: the word is its thread id, and
 * when the thread dies for whatever reason, the kernel sets FUTEX_OWNER_DIED in it (and wakes, if
 * FUTEX_WAITERS was set). One word per process, held by its first thread, which can no longer use
 * robust pthread mutexes. False: the system call failed.
 */
bool robust_hold(_Atomic uint32_t *word, struct err *err);

/** Release it, in the same thread: sets the word to 0. */
void robust_release(_Atomic uint32_t *word);
