// SPDX-License-Identifier: MIT
#pragma once
/** Symbolizes recordings made elsewhere. */

#include "base/base.h"

/**
 * `heaptrack -i FILE [--sysroot D] [--debug-paths D...] [--extra-paths D...] [-o OUT]`: symbolizes
 * a recording made elsewhere with the binaries on this machine. A raw file of KDE's becomes an
 * interpreted one (x.raw.zst: x.zst); heaptrack's own recording is replaced by a symbolized one,
 * and the original is renamed. argv[0] is ignored. Returns the exit status.
 */
int cli_interpret_files(int argc, char **argv);

/** Bytes of single events to be kept for the raw stream: all of them. */
#define RECORD_ALL_EVENTS ((uint64_t)1 << 60)

/**
 * `heaptrack --raw`: the recording at `path`, made with single events, becomes KDE's raw stream in
 * `raw_path`, and is removed. False: it stays.
 */
bool interpret_to_raw(const char *path, const char *raw_path, struct err *err);
