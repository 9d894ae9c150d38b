// SPDX-License-Identifier: MIT
#pragma once
/**
 * Numbers formatted for people. Decimal units throughout (1 kB = 1000 bytes), as in KDE's tools.
 * The texts fit into HUMAN_MAX bytes, including the terminating zero. No locale. Each function
 * returns `out`, so that calls can be arguments; the macros do with room of their own, which lives
 * until the block ends.
 */

#include <stdint.h>

enum { HUMAN_MAX = 32 };

/** "0 B", "320 B", "5.1 kB", "38.5 MB", "1.2 GB". */
char *human_bytes(char out[HUMAN_MAX], uint64_t bytes);

/** For table columns: "320", "5.1K", "38.5M", "1.2G". */
char *human_compact(char out[HUMAN_MAX], uint64_t bytes);

/** "118,943". */
char *human_count(char out[HUMAN_MAX], uint64_t n);

/** "0.8 ms", "412 ms", "5.19 s", "3 min 07 s", "2 h 05 min", "3 d 04 h". */
char *human_duration(char out[HUMAN_MAX], uint64_t ns);

/** The same of a length of time, as exact as an event's time is known: "less than 1 ms". */
char *human_span(char out[HUMAN_MAX], uint64_t ns);

/** "85 %", "0.4 %" below ten, "< 0.1 %"; "0 %" only for none; "100 %" only for all. */
char *human_percent(char out[HUMAN_MAX], uint64_t part, uint64_t whole);

/** KDE's heaptrack_print: "0B", "60B", "81.98K", "4.20M" (divides while above 1000). */
char *human_classic(char out[HUMAN_MAX], uint64_t bytes);

#define HUMAN_ROOM ((char[HUMAN_MAX]){0})

#define HUMAN_BYTES(bytes)         human_bytes(HUMAN_ROOM, bytes)
#define HUMAN_COMPACT(bytes)       human_compact(HUMAN_ROOM, bytes)
#define HUMAN_COUNT(n)             human_count(HUMAN_ROOM, n)
#define HUMAN_DURATION(ns)         human_duration(HUMAN_ROOM, ns)
#define HUMAN_SPAN(ns)             human_span(HUMAN_ROOM, ns)
#define HUMAN_PERCENT(part, whole) human_percent(HUMAN_ROOM, part, whole)
#define HUMAN_CLASSIC(bytes)       human_classic(HUMAN_ROOM, bytes)
