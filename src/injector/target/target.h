// SPDX-License-Identifier: MIT
#pragma once
/**
 * All that is known of the process being attached to, and how it is stopped. Only target/,
 * resident/ and hooks/ use struct injector, in this order: refuse.c (may it be done?), target.c
 * (what the process is made of), resident/ (the memory left in it), hooks/ (functions, islands and
 * patches; the steps).
 */

#include "injector/resident/blob.h"
#include "injector/tracee/tracee.h"

struct planned {
	uint32_t hook; // index of the resident's
	struct relocated moved;
	const struct found_function *function;
	bool is_reused; // its code is in the process already
};

/** Code to be mapped near a module. */
struct island {
	uint64_t at, bytes;
	uint8_t *code;
};

struct plan {
	VEC(struct planned) hooks;
	VEC(struct island) islands;
	struct buffer refused; // lines for injector_describe: what could not be hooked, and why
	bool has_refused_maps; // a function of wire/mappings.def
};

struct injector {
	pid_t pid, pid_inside;
	char token[RESIDENT_TOKEN]; // of a tree of processes; or ""
	struct process_exe exe;     // what it ran when we looked; all 0: unknown
	struct tracee tracee;
	struct blob blob;
	struct process_space space;
	struct modules_code modules;
	struct found_functions functions;
	struct plan plan;
	struct buffer frames;     // unwind tables made for this process
	uint64_t max_pause_ns;    // of all threads, for that
	uint64_t clock;           // a function of the vdso; 0: none
	struct resident resident; // our copy; hooks and islands are ours to write
	uint64_t resident_at;     // of the struct, in the process; 0: not there yet
	bool is_fresh;            // the recorder's image is not written yet
	bool is_attached;
	bool only_looks;      // injector_check
	bool has_filter;      // in a sandbox, whose filters must be asked (tracee/tracee.h)
	uint64_t modules_sum; // of the mapped files with code, to see a change
	uint64_t stopped_ns;  // when the current stop began,
	bool has_stopped_all; // and of whom
	struct injector_report report;
};

/** May it be attached to? Sets pid_inside and has_filter. False: `err` says why and what helps. */
bool injector_may_attach(struct injector *in, bool is_running, struct err *err);

/** Must its sandbox be asked (tracee/tracee.h)? False: any call would kill it. */
bool injector_asks_filters(pid_t pid, bool *has_filter, struct err *err);

// ---- what the process is made of

/** Read its mappings, files and allocation functions. */
bool injector_look(struct injector *in, struct err *err);

/** Forget them, and what was planned by them. */
void injector_forget(struct injector *in);

/** False: the process ended or execed since we looked. */
bool injector_runs_what_we_saw(const struct injector *in);

/** The same by its memory: an exec removes the resident; before there is one, it moves the vdso. */
bool injector_has_what_we_know(const struct injector *in);

/** Say whether it ended or execed. Always false. */
bool injector_say_it_is_another(const struct injector *in, struct err *err);

uint64_t injector_sum_of_modules(const struct process_space *s);

/** Find an instruction that makes a system call, and the clock, in the vdso. */
bool injector_find_vdso(struct injector *in, struct err *err);

/** False: there is nothing to hook; `err` says where we looked. */
bool injector_has_allocator(const struct injector *in, struct err *err);

// ---- stops and errands, with the time taken

/** All threads, or one. False: as of tracee_stop, or it ended or runs another program. */
bool injector_stop(struct injector *in, bool all, struct err *err);
void injector_resume(struct injector *in);

/** Stop a thread, and send it on an errand. False: not sent, or it did not come back. */
bool injector_send(struct injector *in, struct errand *e, struct err *err);

/** Arguments for a field of the resident: its address in the process, our copy, and its size. */
#define INJECTOR_FIELD(in, field)                                                \
	(in)->resident_at + offsetof(struct resident, field), &(in)->resident.field, \
			sizeof(in)->resident.field

/** A planned hook in our copy of the resident, and the address of a hook in the process. */
static inline struct resident_hook *injector_hook_of(struct injector *in,
		const struct planned *planned) {
	return &in->resident.hooks[planned->hook];
}

static inline uint64_t injector_hook_at(const struct injector *in, uint32_t i) {
	return in->resident_at + offsetof(struct resident, hooks) + i * sizeof(struct resident_hook);
}
