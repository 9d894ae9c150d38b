// SPDX-License-Identifier: MIT
/* Maps islands with one thread stopped, and patches functions with all of them stopped. */
#include "injector/hooks/patch.h"

#include "injector/resident/resident.h"
#include "regs.h"

enum {
	PLAN_TRIES = 6,   // the process may map something where we wanted to
	PATCH_TRIES = 60, // until no thread returns into what is replaced,
	PAUSE_NS = 300000,
	PAUSE_MAX_NS = 50000000, // for it may have to wait long for its turn: 2 s in all
};

/** The errand's calls: map the islands in their places. */
static void add_islands(const struct injector *in, struct errand *e) {
	EACH(island, in->plan.islands) {
		struct errand_call *call = island->at == 0 ||
						in->resident.n_islands + e->n_calls == RESIDENT_ISLANDS
				? NULL
				: errand_add(e, SYS_mmap, island->at, island->bytes, PROT_READ | PROT_EXEC);
		if (call) {
			call->arguments[3] = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
			call->arguments[4] = UINT64_MAX;
		}
	}
}

/** Writes to an island only once it is known to be there, and ours. */
static bool fill_islands(struct injector *in, const struct errand *e, struct err *err) {
	struct resident *r = &in->resident;
	if (!tracee_read(&in->tracee, INJECTOR_FIELD(in, header_at))) { // the recorder wrote it
		return err_not_found(err, "process %d has ended", (int)in->pid);
	}
	for (uint32_t i = 0; i < e->n_calls; i++) {
		const struct island *island = FIND_IN(a, in->plan.islands,
				a->at == e->calls[i].arguments[0]);
		if (!tracee_write(&in->tracee, island->at, island->code, island->bytes, err)) {
			return false;
		}
		r->islands[r->n_islands++] = (struct resident_range){island->at, island->bytes};
	}
	return resident_write_head(in, err);
}

/** Are all islands where planned? If not (old kernels ignore the flag), unmap them. */
static bool are_in_place(struct injector *in, const struct errand *e, bool *is_taken,
		struct err *err) {
	struct errand undo = {0};
	bool ok = true;
	*is_taken = false;
	EACH_OF(call, e->calls, e->n_calls) {
		if (call->result >= 0 || call->result < -4095) {
			(void)errand_add(&undo, SYS_munmap, (uint64_t)call->result, call->arguments[1], 0);
			*is_taken |= (uint64_t)call->result != call->arguments[0];
		} else if (call->result != ERRAND_NOT_MADE) {
			*is_taken |= call->result == -EEXIST;
			ok = err_system(err, (int)-call->result, "process %d cannot map memory", (int)in->pid);
		}
	}
	ok = ok && !*is_taken;
	return ok || ((void)(undo.n_calls > 0 && injector_send(in, &undo, NULL)), false);
}

bool patch_prepare(struct injector *in, uint64_t function, int64_t *result, struct err *err) {
	uint32_t n_hooks = in->resident.n_hooks, n_islands = in->resident.n_islands;
	for (unsigned i = 0; i < PLAN_TRIES; i++) {
		struct errand e = {.function = function, .argument = in->resident_at};
		bool is_taken = false;
		if (!injector_look(in, err) || !plan_make(in, err)) {
			return false;
		}
		add_islands(in, &e);
		if ((e.n_calls > 0 || function != 0) && !injector_send(in, &e, err)) {
			return false;
		}
		if (are_in_place(in, &e, &is_taken, err)) {
			if (result) {
				*result = e.result;
			}
			return fill_islands(in, &e, err);
		}
		in->resident.n_hooks = n_hooks;
		in->resident.n_islands = n_islands;
		if (!is_taken) {
			return false;
		}
	}
	return err_failed(err, "process %d maps memory too quickly to place code near it; try again",
			(int)in->pid);
}

/** Move a thread that stands in a function's beginning to the same instruction of the moved one. */
static void move_thread(struct injector *in, struct tracee_thread *thread) {
	EACH(planned, in->plan.hooks) {
		const struct resident_hook *hook = injector_hook_of(in, planned);
		uint64_t into = regs_pc(&thread->regs) - hook->address;
		if (planned->is_reused || hook->is_patched || into == 0 || into >= hook->n_bytes) {
			continue;
		}
		EACH_NUMBER(s, planned->moved.n_steps, planned->moved.from[s] == into) {
			regs_set_pc(&thread->regs, hook->moved + planned->moved.to[s]);
			thread->is_changed = true;
		}
	}
}

/** May the beginnings be overwritten? No thread stands in one or returns into one. */
static bool is_safe(struct injector *in) {
	struct resident_range ranges[RESIDENT_HOOKS];
	size_t n = 0;
	for (size_t i = 0; i < in->plan.hooks.n; i++) {
		const struct resident_hook *hook = injector_hook_of(in, &in->plan.hooks.items[i]);
		if (!hook->is_patched) {
			ranges[n++] = (struct resident_range){hook->address + 1, hook->n_bytes - 1u};
		}
	}
	for (size_t i = 0; i < in->tracee.threads.n; i++) {
		move_thread(in, &in->tracee.threads.items[i]);
	}
	return !threads_touch(in, ranges, n);
}

static bool patch_hook(struct injector *in, uint32_t index, struct err *err) {
	struct resident_hook *hook = &in->resident.hooks[index];
	uint8_t now[RESIDENT_PATCH_MAX];
	if (hook->is_patched || !tracee_read(&in->tracee, hook->address, now, hook->n_bytes) ||
			memcmp(now, hook->original, hook->n_bytes) != 0) {
		return true; // it is patched already, or its module is gone
	}
	hook->is_patched = 1;
	return tracee_write(&in->tracee, injector_hook_at(in, index), hook, sizeof *hook, err) &&
			tracee_write(&in->tracee, hook->address, hook->patch, hook->n_bytes, err);
}

/** Stop all at a moment when it is safe. */
static bool stop_all_safely(struct injector *in, struct err *err) {
	uint64_t pause_ns = PAUSE_NS;
	for (unsigned i = 0; i < PATCH_TRIES; i++) {
		if (i > 0) {
			clock_sleep_ns(pause_ns);
			pause_ns = pause_ns * 6 / 5 < PAUSE_MAX_NS ? pause_ns * 6 / 5 : PAUSE_MAX_NS;
		}
		if (!injector_stop(in, true, err)) {
			return false;
		}
		if (is_safe(in)) {
			return true;
		}
		injector_resume(in);
	}
	return err_failed(err,
			"a thread of process %d stays in the first instructions of an allocation function; "
			"nothing was changed",
			(int)in->pid);
}

bool patch_may_copy_memory(struct injector *in) {
	struct injector_report *r = &in->report;
	if (in->is_attached || in->tracee.is_held) {
		return false;
	}
	bool fits = in->max_pause_ns > 0 && snapshot_fits(in->pid, in->max_pause_ns, &r->snapshot_ns);
	r->no_copy = in->max_pause_ns == 0 ? INJECTOR_COPY_OFF
			: fits                     ? INJECTOR_COPIED
									   : INJECTOR_COPY_LATE;
	return r->no_copy == INJECTOR_COPIED;
}

/**
 * Copy the memory before the first block is recorded. The other threads go on once there is a copy,
 * or will be none. The report states its cost apart from the stop's.
 */
static void copy_memory(struct injector *in) {
	uint64_t start_ns = clock_now_ns();
	in->report.no_copy = snapshot_take(&in->tracee, in->max_pause_ns, true);
	in->report.snapshot = in->tracee.copy.pid;
	in->report.snapshot_ns = in->tracee.copy.cost_ns;
	uint64_t took_ns = clock_now_ns() - start_ns;
	in->report.one_pause_ns += took_ns - in->tracee.copy.cost_ns;
	in->stopped_ns += took_ns;
}

bool patch_all(struct injector *in, struct err *err) {
	bool copies = patch_may_copy_memory(in);
	if (!stop_all_safely(in, err)) {
		return false;
	}
	in->resident.state = RESIDENT_ATTACHED;
	bool ok = tracee_write(&in->tracee, INJECTOR_FIELD(in, state), err) &&
			ALL(i, in->plan.hooks.n, patch_hook(in, in->plan.hooks.items[i].hook, err));
	if (!ok) {
		(void)resident_restore(in, NULL);
	} else if (copies) {
		copy_memory(in);
	}
	injector_resume(in);
	return ok;
}
