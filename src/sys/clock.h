// SPDX-License-Identifier: MIT
#pragma once
/** Clocks that give the same time in the target and in the collector. */

#include <stdbool.h>
#include <stdint.h>

/** Nanoseconds of CLOCK_MONOTONIC: for durations, the same clock in target and collector. */
uint64_t clock_now_ns(void);

/** The processor's time stamp counter. Only where clock_has_stamps(). */
uint64_t clock_stamp(void);

/**
 * Does the kernel use that counter as the clock of all processors, and may this thread read it? The
 * kernel can stop using it later. HEAPTRACK_STAMPS=counted in the environment makes this false.
 */
bool clock_has_stamps(void);

/** Nanoseconds since the Unix epoch. */
uint64_t clock_wall_ns(void);

/** Seconds that the local clock was ahead of UTC at that moment. */
int64_t clock_wall_offset_s(uint64_t wall_ns);

/** CPU time that the calling thread has used. */
uint64_t clock_thread_cpu_ns(void);

/** Sleep for this time, or until a signal is handled. */
void clock_sleep_ns(uint64_t ns);
