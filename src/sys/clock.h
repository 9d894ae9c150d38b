// SPDX-License-Identifier: MIT
#pragma once
/** Clocks that give the same time in the target and in the collector. */

#include <stdbool.h>
#include <stdint.h>

/** CLOCK_MONOTONIC in ns, for durations; the same in target and collector. */
uint64_t clock_now_ns(void);

/** The processor's time stamp counter. Requires clock_has_stamps(). */
uint64_t clock_stamp(void);

/**
 * Does the kernel use that counter as the clock of all processors, and may this thread read it? The
 * kernel can stop using it later. False if HEAPTRACK_STAMPS=counted is in the environment.
 */
bool clock_has_stamps(void);

/** Nanoseconds since the Unix epoch. */
uint64_t clock_wall_ns(void);

/** The local time's offset from UTC at that moment, in seconds. */
int64_t clock_wall_offset_s(uint64_t wall_ns);

/** CPU time of the calling thread. */
uint64_t clock_thread_cpu_ns(void);

/** Sleep for this time, or until a signal is handled. */
void clock_sleep_ns(uint64_t ns);
