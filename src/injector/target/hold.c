// SPDX-License-Identifier: MIT
/* Stops all threads of a process, reads their registers, and copies it by an errand. */
#include "injector/target/target.h"
#include "regs.h"

struct tracee *injector_hold(pid_t pid, struct err *err) {
	struct tracee *t = calloc(1, sizeof *t);
	if (!t) {
		return err_memory_null(err);
	}
	if (!tracee_open(t, pid, err) || !tracee_stop(t, true, err)) {
		injector_release(t);
		return NULL;
	}
	return t;
}

size_t injector_held(const struct tracee *in, size_t i, struct graph_thread *out) {
	const struct tracee_thread *t = &in->threads.items[i];
	struct iovec rest = {out->words + GRAPH_VECTORS, sizeof out->words - GRAPH_VECTORS * 8};
	*out = (struct graph_thread){.sp = regs_kept_from(&t->regs, t->is_changed),
			.fs_base = t->regs.fs_base,
			.tid = (uint32_t)t->tid};
	regs_words(&t->regs, out->words);
	(void)ptrace(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, &rest);
	return in->threads.n;
}

/** Is there room for errands? The process may have execed since. */
static bool has_room(const struct tracee *t) {
	uint64_t magic, at = t->errands.code - sizeof magic;
	return t->errands.code != 0 && tracee_read(t, at, &magic, sizeof magic) &&
			magic == ERRAND_MAGIC;
}

void injector_release(struct tracee *t) {
	if (t) {
		snapshot_end(t);
		if (t->copy.pid != 0 && tracee_stop(t, false, NULL) && !has_room(t)) {
			tracee_resume(t);
		}
		snapshot_drop(t);
		tracee_close(t);
		free(t);
	}
}

// ---- a copy

static bool may_copy(struct tracee *t, struct err *err) {
	bool has_filter = false;
	if (!has_room(t)) {
		return err_unsupported(err, "the program has just begun, or has no recorder");
	}
	return (injector_asks_filters(t->pid, &has_filter, NULL) &&
				   (!has_filter || sandbox_lets_us(t, false, NULL))) ||
			err_unsupported(err, "it is in a sandbox (seccomp) that may end it if it is copied");
}

/** Let V8's heap be copied (MADV_DOFORK), or no longer. All is stopped. False: it refuses. */
static bool advise(struct tracee *t, const struct smaps *areas, int advice) {
	struct errand e = {0};
	bool ok = true;
	for (size_t i = 0; ok && i <= areas->n; i++) {
		const struct smaps_area *a = i < areas->n ? &areas->items[i] : NULL;
		if (e.n_calls == ERRAND_CALLS || (!a && e.n_calls > 0)) {
			ok = tracee_errand(t, NULL, &e, NULL) && e.calls[e.n_calls - 1].result == 0;
			e.n_calls = 0;
		}
		if (a && a->is_left_out && a->kind == SMAPS_ANONYMOUS && !a->is_shared) {
			(void)errand_add(&e, SYS_madvise, a->start, a->end - a->start, (uint64_t)advice);
		}
	}
	return ok;
}

pid_t injector_copy(struct tracee *t, const struct injector_room *room, uint64_t *pause_ns,
		struct err *err) {
	enum { WITHIN_NS = 1000000000 };
	SCOPED_BY(smaps_finish) struct smaps areas = {0};
	t->errands.code = room->code;
	t->errands.errand = t->errands.stack_top = room->errand;
	if (!may_copy(t, err)) {
		tracee_resume(t);
		return 0;
	}
	bool ok = !room->has_left_out ||
			(smaps_read(&areas, t->pid, "smaps") && advise(t, &areas, MADV_DOFORK));
	enum injector_no_copy why = ok ? snapshot_take(t, WITHIN_NS, !room->has_left_out)
								   : INJECTOR_COPY_FAILED;
	(void)advise(t, &areas, MADV_DONTFORK);
	tracee_resume(t);
	*pause_ns = clock_now_ns() - t->since_ns;
	if (why != INJECTOR_COPIED) {
		(void)err_unsupported(err,
				why == INJECTOR_COPY_LATE ? "copying its memory takes longer than a second"
										  : "the kernel refuses a copy of the process");
		return 0;
	}
	CLOSED int score = open(PROCESS_PATH(t->copy.pid, "oom_score_adj"), O_WRONLY | O_CLOEXEC);
	(void)!write(score, "1000", 4);
	return t->copy.pid;
}
