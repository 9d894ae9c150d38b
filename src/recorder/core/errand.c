// SPDX-License-Identifier: MIT
/* What a thread does on an errand. Uses no data of the recorder, which may be remade meanwhile. */
#include "recorder/core/errand.h"

static bool make_call(struct errand_call *c) {
	const uint64_t *a = c->arguments;
	long result = syscall_6((long)c->number, (long)a[0], (long)a[1], (long)a[2], (long)a[3],
			(long)a[4], (long)a[5]);
	if (c->number == __NR_clone && result == 0) {
		// We are the copy, which gets here only if its maker was killed before it could stop us
		(void)syscall_1(__NR_exit_group, 0);
	}
	c->result = result;
	return !sys_failed(result);
}

uint64_t errand_do(struct errand *errand) {
	bool ok = true;
	for (uint32_t i = 0; ok && i < errand->n_calls; i++) {
		ok = make_call(&errand->calls[i]);
	}
	if (ok && errand->function != 0) {
		errand->result = ((long (*)(uint64_t))errand->function)(errand->argument);
	}
	__atomic_store_n(&errand->state, ERRAND_DONE, __ATOMIC_SEQ_CST);
	// Until somebody comes and changes our registers. ppoll keeps nothing in the kernel for a
	// restart after an interruption: that belongs to the call the thread was found in
	const int64_t patience[2] = {ERRAND_PATIENCE_S, 0}; // seconds, ns
	(void)syscall_6(__NR_ppoll, 0, 0, (long)patience, 0, 0, 0);
	__atomic_store_n(&errand->state, ERRAND_LEFT, __ATOMIC_SEQ_CST);
	return errand->frame;
}
