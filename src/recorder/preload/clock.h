// SPDX-License-Identifier: MIT
#pragma once

/**
 * The clock by which events are labelled, read without the C library.
 *
 * Its clock_gettime may be replaced by one that gives other times (libfaketime) or cannot be called
 * yet (sanitizers).
 */

#include <stdint.h>

/** CLOCK_MONOTONIC, in ns. Any thread, any signal handler, errno unchanged. */
uint64_t preload_clock_ns(void);
