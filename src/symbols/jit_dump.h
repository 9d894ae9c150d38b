// SPDX-License-Identifier: MIT
#pragma once
/**
 * Reads what a JIT compiler dumps for perf about generated code (perf's jitdump format, version 1):
 * a header, then records of code that was loaded or moved, with names, the code itself and more.
 * The entries are stored like those of a perf map (symbols/perf_map.h). Only files in this
 * machine's byte order.
 *
 * Pure: bytes go in as they are read. One thread.
 */

#include "symbols/perf_map.h"

enum { JIT_DUMP_HEADER_BYTES = 40 };

/** Is it the beginning of one, of the process that calls itself `pid`? */
bool jit_dump_is_of(struct slice header, uint32_t pid);

/**
 * Take the whole records of `bytes`, that stand at `at` in a file of `file_bytes`, into `fresh`.
 * Gives how far to go on in the file, which may be behind `bytes`: code is passed over. 0: more is
 * needed first.
 */
uint64_t jit_dump_feed(struct perf_map *m, struct slice bytes, uint64_t at, uint64_t file_bytes);
