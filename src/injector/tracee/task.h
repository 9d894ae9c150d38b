// SPDX-License-Identifier: MIT
#pragma once
/** What a thread is doing, and waiting for it to stop. */

#include "injector/tracee/tracee.h"

/** Does it wait for a child that runs in its memory? Then it can neither be stopped nor let go. */
bool task_waits_for_vfork(const struct tracee *t, const struct tracee_thread *thread);

/** A file of /proc/PID/task/TID, as text. False: it is empty, or the thread is gone. */
bool task_read(const struct tracee_thread *thread, const char *name, char *out, size_t size);

/** As /proc has it: R, S, D ...; '?': it is gone. */
char task_state(const struct tracee_thread *thread);

/** Is a signal pending that it would take now, and notice? */
bool task_has_signal(const struct tracee_thread *thread);

/** Say of a thread why it does not stop. False, always. */
bool task_complain(const struct tracee_thread *thread, struct err *err);

enum tracee_wait {
	WAIT_STOPPED,
	WAIT_GONE, // the thread has ended
	WAIT_LATE,
};

/** Wait for a change of a traced thread, until `until_ns` of the monotonic clock. */
enum tracee_wait tracee_wait_for(pid_t tid, int *status, uint64_t until_ns);

/** Pause between two looks at what is about to change; longer from some `n`, their count, on. */
void tracee_pause(unsigned n);
