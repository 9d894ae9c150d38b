// SPDX-License-Identifier: MIT
/*
 * Records without `heaptrack` around it.
 *
 *      program                         collector
 *         │ fork, fork, exec ───────────► │ makes the segment
 *         │ ◄───────── "HEAPTRACK_SEGMENT=..." through a pipe
 *         │ records                       │ drains
 *         │ exit: closes the segment ───► │ writes the file
 *         │ ◄── lets go of header.owner   │
 *         ▼
 *
 * A program that ends otherwise (_exit, a signal) does not wait: its file appears a little later.
 */
#include "recorder/core/awaiting.h"
#include "recorder/core/switch.h"
#include "recorder/preload/collector.h"

enum { END_PATIENCE_MS = 300000 }; // for the collector to write the file

static const char *wanted_file; // heaptrack_start's argument

static enum segment_role open_wanted(void) {
	return collector_open_for(wanted_file);
}

bool alone_start(const char *file) {
	wanted_file = file;
	(void)switch_find_out();
	if (!switch_turn_on_late(open_wanted)) {
		return false;
	}
	alone_begin();
	return true;
}

// ---- the end

void alone_wait(void) {
	if ((segment.options & SEGMENT_PROGRAM_WAITS) == 0) {
		return;
	}
	segment_ring_bell();
	const struct timespec nap = {.tv_nsec = 1000000};
	for (int i = 0; i < END_PATIENCE_MS && awaiting_has_collector(); i++) {
		(void)syscall_2(__NR_nanosleep, (long)&nap, 0);
	}
}

static void end(void *unused) {
	(void)unused;
	awaiting_look(SEGMENT_ENDING);
	fork_note_end();
	if (switch_is_on_or_paused() && (segment.options & SEGMENT_PROGRAM_WAITS) != 0) {
		switch_turn_off(true);
		alone_wait();
	}
}

static void begin_of_end(void *unused) {
	(void)unused;
	awaiting_look(SEGMENT_ENDING);
}

extern int __cxa_atexit(void (*function)(void *), void *argument, void *library);
extern int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *library)
		__attribute__((weak)); // musl has none

// Registered for no library, it is called after all that was registered later, even destructors of
// libraries. exit() calls those of the main thread's variables before all others
void alone_begin(void) {
	if (switch_is_on_or_paused()) {
		(void)__cxa_atexit(end, NULL, NULL);
	}
	if (switch_is_on() && (segment.options & SEGMENT_LOOKS_EARLY) != 0 &&
			__cxa_thread_atexit_impl != NULL) {
		switch_pause(true);                                               // it allocates
		(void)__cxa_thread_atexit_impl(begin_of_end, NULL, &wanted_file); // of ours: NULL crashes
		switch_pause(false);
	}
}
