// SPDX-License-Identifier: MIT
#pragma once

// What the files of the injector share; nobody else includes this.
//
//   refuse.c        may it be done at all?
//   look.c          what the process is made of
//   make.c          what is left in the process: made,
//   resident.c      found, restored,
//   clean.c         cleaned
//   plan.c          functions -> hooks, islands, code
//   patch.c         that put into the process
//   injector.c      the steps, in their order

#include "injector/arch/relocate.h"
#include "injector/find.h"
#include "injector/injector.h"
#include "injector/resident/blob.h"
#include "injector/space.h"
#include "injector/tracee/snapshot.h"
#include "injector/tracee/tracee.h"
#include "sys/process.h"
#include "wire/resident.h"

enum { INJECTOR_SYSCALL = 0x050f }; // the bytes of an instruction "syscall"

/** A hook that is to be patched. */
struct planned {
	uint32_t hook; // index of the resident's
	struct relocated moved;
	const struct found_function *function;
	bool is_reused; // its code lies in the process already
};

/** Code that is to be mapped near a module. */
struct island {
	uint64_t at, bytes;
	uint8_t *code;
	bool is_mapped;
};

struct plan {
	struct {
		struct planned *items;
		size_t n, capacity;
	} hooks;
	struct {
		struct island *items;
		size_t n, capacity;
	} islands;
	struct buffer refused; // lines of injector_describe: what could not be hooked, and why
};

struct injector {
	pid_t pid, pid_inside;
	struct process_exe exe; // which it ran when we looked. All 0: not known yet
	struct tracee tracee;
	struct blob blob;
	struct process_space space;
	struct modules_code modules;
	struct found_functions functions;
	struct plan plan;
	struct buffer frames;     // unwind tables made for this process
	struct snapshot snapshot; // as it was when it was attached to
	uint64_t max_pause_ns;    // of all threads, for that
	struct resident resident; // our copy; hooks and islands are ours to write
	uint64_t resident_at;     // of the struct, in the process; 0: not there yet
	bool is_fresh;            // the recorder's image has not been written yet
	bool is_attached;
	uint64_t modules_sum; // of the mapped files with code, to see a change
	uint64_t stopped_ns;  // when the current stop began,
	bool has_stopped_all; // and of whom
	struct injector_report report;
	struct buffer description;
};

struct who_is {
	pid_t pid_inside; // as it calls itself
	bool has_filter;  // in a sandbox, whose filters are to be asked (injector/tracee/sandbox.h)
};

/** May `pid` be attached to? False: `err` says why not and what helps. Touches nothing. */
bool refuse_or_go_on(pid_t pid, bool is_running, struct who_is *who_is, struct err *err);

/** Mappings, files and allocation functions as they are now. */
bool injector_look(struct injector *in, struct err *err);
void injector_forget(struct injector *in);

/** False: the process has ended, or begun another program since we looked. */
bool injector_runs_what_we_saw(const struct injector *in);

/** Which of the two it was. False, always. */
bool injector_say_it_is_another(const struct injector *in, struct err *err);

/** Of the mapped files with code: another sum, other files. */
uint64_t injector_sum_of_modules(const struct process_space *s);

/** An instruction "syscall", and the clock (0: none), in the vdso, which every process has. */
bool injector_find_vdso(struct injector *in, uint64_t *clock, struct err *err);

/** False: nothing to hook, `err` says where was looked. */
bool injector_has_allocator(const struct injector *in, struct err *err);

/** A new resident with the recorder in it, or the one that is there; and a memfd: ours of two, or -1. */
int resident_make_memory(struct injector *in, uint64_t clock, const char *path, struct err *err);

/** One more call of an errand. NULL: there are too many. */
struct errand_call *errand_add(struct errand *e, long number, uint64_t a, uint64_t b, uint64_t c);

/** Stop a thread, and send it on an errand. Not NULL: `err` says so. */
bool injector_send(struct injector *in, struct errand *e, struct err *err);

/**
 * Plan, and map what is planned: all or nothing. `function`, of the recorder, is called with the
 * resident then; 0: none.
 */
bool patch_prepare(struct injector *in, uint64_t function, int64_t *result, struct err *err);

/** Write the planned patches, at a moment when no thread is in their way. */
bool patch_all(struct injector *in, struct err *err);

struct resident_hook *injector_hook_of(struct injector *in, const struct planned *planned);

/** Which functions become which hooks. `space` gets the islands added. */
bool plan_make(struct injector *in, struct err *err);
void plan_finish(struct plan *p);

/** Errands begin in that resident. */
void resident_use_for_errands(struct injector *in);

/** Find a resident; false only for errors. Sets resident, resident_at. */
bool resident_find(struct injector *in, struct err *err);

/** May it be used as it is? Not if its last errand has ended in another way than by its tracer. */
bool resident_is_free(const struct injector *in);

/**
 * Wait until no thread is on an errand of a heaptrack that was killed: that takes some seconds. Sent on
 * another one it would come back to where it waits, and never to its own work.
 */
bool resident_await_errands(struct injector *in, struct err *err);

/** Is somebody recording it now? Takes up to a second. */
bool resident_is_in_use(const struct injector *in);

/** All threads are stopped: put the original bytes back. */
bool resident_restore(struct injector *in, struct err *err);

/** Restore and clean, as often as it takes to find all threads outside; `is_clean` in the end? */
bool resident_retire(struct injector *in, bool *is_clean, struct err *err);

/** Write the fields in front of the hooks. */
bool resident_write_head(struct injector *in, struct err *err);

/** Does any thread stand, or return, into one of the ranges? All threads are stopped. */
bool threads_touch(struct injector *in, const struct resident_range *ranges, size_t n);

/** Stops and resumes, with the time taken. */
bool injector_stop_one(struct injector *in, struct err *err);
bool injector_stop_all(struct injector *in, struct err *err);
void injector_resume(struct injector *in);
