// SPDX-License-Identifier: MIT
#pragma once

/** Sleeping until another thread or process changes a word. */

#include <stdatomic.h>
#include <stdint.h>

/**
 * Sleep while *word == expected, at most `timeout_ns`. Returns on a wake, a change, a signal or the
 * timeout, and occasionally for no reason: check the word again. Works across processes.
 */
void futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);

/** Wake up to `n` sleepers, of any process that maps the word. */
void futex_wake(_Atomic uint32_t *word, int n);
