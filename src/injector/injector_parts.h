// SPDX-License-Identifier: MIT
#pragma once

// What the files of the injector share; nobody else includes this.
//
//   refuse.c     may it be done at all?
//   plan.c       functions -> hooks, islands, code
//   resident.c   what is left in the process: find, restore, clean
//   injector.c   the steps, in their order

#include "injector/blob.h"
#include "injector/find.h"
#include "injector/injector.h"
#include "injector/relocate.h"
#include "injector/space.h"
#include "injector/tracee.h"
#include "wire/resident.h"

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
	struct buffer refused; // lines: what could not be hooked, and why
};

struct injector {
	pid_t pid, pid_inside;
	struct tracee tracee;
	struct blob blob;
	struct process_space space;
	struct modules_code modules;
	struct found_functions functions;
	struct plan plan;
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

/** May `pid` be attached to? False: `err` says why not and what helps. Touches nothing. */
bool refuse_or_go_on(pid_t pid, pid_t *pid_inside, struct err *err);

/** Which functions become which hooks. `space` gets the islands added. */
bool plan_make(struct injector *in, struct err *err);
void plan_finish(struct plan *p);

/** Find a resident; false only for errors. Sets resident, resident_at. */
bool resident_find(struct injector *in, struct err *err);

/** Is somebody recording it now? Takes up to a second. */
bool resident_is_in_use(const struct injector *in);

/** All threads are stopped: put the original bytes back. */
bool resident_restore(struct injector *in, struct err *err);

/** All threads are stopped and nothing is patched: unmap what the recorder has, if nobody is inside. */
bool resident_clean(struct injector *in, struct err *err);

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
