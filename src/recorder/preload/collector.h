// SPDX-License-Identifier: MIT
#pragma once
/**
 * Starts a collector for a program that heaptrack did not start. It is no child of the program and
 * gets none of its descriptors but stdout and stderr.
 */

#include "recorder/core/segment.h"

/**
 * segment_open; but if nobody records this process and DUMP_HEAPTRACK_OUTPUT asks for it, with a
 * collector started for that. SEGMENT_ENV then replaces that variable, also for its children.
 */
enum segment_role collector_open(char **environment);

/** Start a collector for `file`, named as in that variable, and open its segment. Once. */
enum segment_role collector_open_for(const char *file);

extern char **environ __attribute__((weak));

// ---- the library alone, without `heaptrack` around it, as KDE's is used
//
// LD_PRELOAD=.../libheaptrack_preload.so DUMP_HEAPTRACK_OUTPUT=FILE PROGRAM
//
// or heaptrack_start(FILE) in the program starts a collector, which writes KDE's raw stream to FILE
// at the end.

/** Record from here on, into `file`. False: this process is, was, or cannot be recorded. */
bool alone_start(const char *file);

/** The recording is over: if the library started the collector, wait for it to write the file. */
void alone_wait(void);

/**
 * Have the program's exit wait until its collector has looked at it, and one started by the library
 * has written its file. Once, at the start.
 */
void alone_begin(void);

/** Have the C library report forks, in a tree of processes. Once, at the start. */
void fork_begin(void);

/** The process is about to end, and has nothing left to free. */
void fork_note_end(void);

// ---- a recorded process becomes another program, and the collector is asked to follow. It looks
// at the new program before that runs, and injects the recorder into those that cannot load it
// (docs/attach.md). Any thread, any signal handler, children of fork and vfork: only the main
// thread of the recorded process asks.

/** Before the call. Waits for the collector, some seconds at most. True: it follows. */
bool exec_begin(const char *path, bool search);
bool exec_begin_file(int fd);

/** The call returned: there was no exec. */
void exec_failed(bool is_followed);
