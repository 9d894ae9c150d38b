// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

/** Nanoseconds of CLOCK_MONOTONIC: for durations, the same clock in target and collector. */
uint64_t clock_now_ns(void);

/** Nanoseconds since the Unix epoch. */
uint64_t clock_wall_ns(void);

/** CPU time that the calling thread has used. */
uint64_t clock_thread_cpu_ns(void);
