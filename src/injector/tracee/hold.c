// SPDX-License-Identifier: MIT
/* Stops all threads of a process, and takes what their registers hold. */
#include "injector/tracee/tracee.h"
#include "regs.h"
#include "sys/sys.h"

#include <elf.h>
#include <sys/uio.h>

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

bool injector_hold_again(struct tracee *t, const pid_t *tids, size_t n, struct err *err) {
	enum { MOMENT_NS = 50000 };
	for (size_t i = 0; i < n; i++) {
		tracee_resume_one(t, tids[i]);
	}
	clock_sleep_ns(MOMENT_NS);
	return tracee_stop(t, true, err);
}

size_t injector_held(const struct tracee *in, size_t i, struct graph_thread *out) {
	const struct tracee_thread *t = &in->threads.items[i];
	_Static_assert(sizeof out->words > sizeof t->regs, "and vector registers");
	struct iovec rest = {(char *)out->words + sizeof t->regs, sizeof out->words - sizeof t->regs};
	*out = (struct graph_thread){.sp = regs_kept_from(&t->regs, t->is_changed)};
	memcpy(out->words, &t->regs, sizeof t->regs);
	(void)ptrace(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, &rest);
	return in->threads.n;
}

void injector_release(struct tracee *t) {
	if (t) {
		tracee_close(t);
		free(t);
	}
}
