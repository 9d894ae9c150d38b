// SPDX-License-Identifier: MIT

/*
 * Stops and errands, with the time taken. The process may have begun another program, or ended,
 * whenever it ran: so each stop asks first whether it is still what was looked at.
 */

#include "injector/target/target.h"
#include "sys/clock.h"

/** Asked when it is stopped, or when there is nothing to stop any more. */
static bool is_same_program(struct injector *in, struct err *err) {
	if (injector_has_what_we_know(in) && injector_runs_what_we_saw(in)) {
		return true;
	}
	in->is_attached = false;
	tracee_resume(&in->tracee);
	return injector_say_it_is_another(in, err);
}

bool injector_stop_one(struct injector *in, struct err *err) {
	in->stopped_ns = clock_now_ns();
	in->has_stopped_all = false;
	return tracee_stop_one(&in->tracee, err) && is_same_program(in, err);
}

bool injector_stop_all(struct injector *in, struct err *err) {
	in->stopped_ns = clock_now_ns();
	in->has_stopped_all = true;
	if (!tracee_stop_all(&in->tracee, err) || !is_same_program(in, err)) {
		return false;
	}
	in->report.n_threads = (uint32_t)in->tracee.threads.n;
	// A thread of the process itself works for us, not one of a child that borrows its memory
	for (size_t i = 0; i < in->tracee.threads.n; i++) {
		struct tracee_thread *thread = &in->tracee.threads.items[i];
		if (thread->pid == in->pid) {
			struct tracee_thread first = in->tracee.threads.items[0];
			in->tracee.threads.items[0] = *thread;
			*thread = first;
			break;
		}
	}
	return true;
}

void injector_resume(struct injector *in) {
	struct injector_report *r = &in->report;
	tracee_resume(&in->tracee);
	uint64_t pause_ns = clock_now_ns() - in->stopped_ns;
	r->n_stops++;
	if (!in->has_stopped_all) {
		r->one_pause_ns += pause_ns;
		return;
	}
	r->all_pause_ns += pause_ns;
	r->longest_pause_ns = pause_ns > r->longest_pause_ns ? pause_ns : r->longest_pause_ns;
}

struct errand_call *errand_add(struct errand *e, long number, uint64_t a, uint64_t b, uint64_t c) {
	if (e->n_calls == ERRAND_CALLS) {
		return NULL;
	}
	struct errand_call *call = &e->calls[e->n_calls++];
	*call = (struct errand_call){.number = number, .arguments = {a, b, c}};
	return call;
}

bool injector_send(struct injector *in, struct errand *e, struct err *err) {
	if (!injector_stop_one(in, err)) {
		return false;
	}
	bool ok = tracee_errand(&in->tracee, NULL, e, err);
	injector_resume(in);
	return ok;
}
