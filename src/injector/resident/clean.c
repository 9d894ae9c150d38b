// SPDX-License-Identifier: MIT

/*
 * Takes the hooks out and cleans what stays. With all threads stopped the original bytes are put
 * back and, if nobody is inside the recorder, its pointer to the resident is cleared. Calls that
 * are still in progress then bypass the recorder, so the rest is done with one thread stopped: what
 * the recorder mapped is unmapped, and its data are reset.
 */

#include "injector/resident/resident.h"
#include "regs.h"
#include "sys/clock.h"
#include "wire/segment.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RETIRE_TRIES = 8 }; // with growing pauses between: 127 ms in all

// ---- is anybody inside?

/** A forked child has its parent's notes of threads that it lacks itself. */
static bool has_thread(const struct injector *in, uint32_t tid) {
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/task/%u", (int)in->pid, tid);
	// Ids are those of the process's namespace: they can be looked up only if it is ours as well
	return in->pid != in->pid_inside || access(path, F_OK) == 0;
}

static bool is_inside(const struct injector *in, const struct resident_thread *thread) {
	return thread->inside != 0 && has_thread(in, thread->tid);
}

static bool any_is_inside(const struct injector *in) {
	const struct resident *r = &in->resident;
	size_t bytes = r->n_threads * sizeof(struct resident_thread);
	struct resident_thread *threads = malloc(bytes);
	bool any = !threads || !tracee_read(&in->tracee, r->threads_at, threads, bytes);
	for (size_t i = 0; !any && i < r->n_threads; i++) {
		any = is_inside(in, &threads[i]);
	}
	free(threads);
	return any;
}

/** The thread that the recorder knows by that key. */
static bool that_is_inside(const struct injector *in, uint64_t key) {
	const struct resident *r = &in->resident;
	for (unsigned i = 0; i < RESIDENT_THREAD_PROBES; i++) {
		uint64_t place = (resident_thread_place(key) + i) & (r->n_threads - 1);
		struct resident_thread thread;
		if (!tracee_read(&in->tracee, r->threads_at + place * sizeof thread, &thread,
					sizeof thread)) {
			return true;
		}
		if (thread.key == key || thread.key == 0) {
			return thread.key != 0 && is_inside(in, &thread);
		}
	}
	return false;
}

static bool stands_in_code(const struct injector *in, uint64_t pc) {
	const struct resident *r = &in->resident;
	bool is_there = pc - r->text_at < r->text_bytes;
	for (uint32_t k = 0; k < r->n_islands && k < RESIDENT_ISLANDS; k++) {
		is_there |= pc - r->islands[k].at < r->islands[k].bytes;
	}
	return is_there;
}

/**
 * Does any thread depend on the recorder's data? One that has begun a call and not ended it has
 * noted so itself. One between that and the process's own code stands in the recorder's code, or is
 * in a handler of a signal that came just there, which needs only the code and finds the pointer
 * cleared. A thread that waits for a child of vfork is not among those that are stopped: it stands
 * in the kernel.
 */
static bool is_lived_in(const struct injector *in) {
	const struct resident *r = &in->resident;
	uint32_t has_tids;
	bool knows_keys = r->n_threads == 1u << RESIDENT_THREADS_LOG2 &&
			tracee_read(&in->tracee, r->has_tids_at, &has_tids, sizeof has_tids) && has_tids == 0;
	for (size_t i = 0; i < in->tracee.threads.n; i++) {
		const struct user_regs_struct *regs = &in->tracee.threads.items[i].regs;
		if (stands_in_code(in, regs_pc(regs)) ||
				(knows_keys && that_is_inside(in, regs_thread_key(regs)))) {
			return true;
		}
	}
	return !knows_keys && any_is_inside(in);
}

// ---- cleaning

/** Let calls pass by from now on. All threads are stopped and outside. */
static bool forget_resident(struct injector *in) {
	const uint64_t none = 0;
	return tracee_write(&in->tracee, in->resident.pointer_at, &none, sizeof none, NULL) &&
			tracee_read(&in->tracee, in->resident_at + offsetof(struct resident, mappings),
					in->resident.mappings, sizeof in->resident.mappings);
}

/** The descriptor of the segment, if an attach was broken off before the recorder closed it. */
static void add_descriptor(struct injector *in, struct errand *e) {
	static const char ours[] = "/memfd:" SEGMENT_MAPPING_NAME;
	char path[64], target[64];
	if (in->resident.fd < 0 || in->resident.pid != in->pid_inside) {
		return;
	}
	(void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)in->pid, (int)in->resident.fd);
	ssize_t n = readlink(path, target, sizeof target - 1);
	target[n > 0 ? n : 0] = '\0';
	if (strncmp(target, ours, sizeof ours - 1) == 0) {
		(void)errand_add(e, SYS_close, (uint64_t)in->resident.fd, 0, 0);
	}
	in->resident.fd = -1;
}

/** The list is emptied first: at a second attempt other mappings could be in the same places. */
static bool add_mappings(struct injector *in, struct errand *e, struct err *err) {
	struct resident *r = &in->resident;
	for (unsigned i = 0; i < RESIDENT_MAPPINGS; i++) {
		if (r->mappings[i].bytes != 0) {
			(void)errand_add(e, SYS_munmap, r->mappings[i].at, r->mappings[i].bytes, 0);
		}
	}
	memset(r->mappings, 0, sizeof r->mappings);
	return tracee_write(&in->tracee, in->resident_at + offsetof(struct resident, mappings),
			r->mappings, sizeof r->mappings, err);
}

/** Write the initial data of the image again, where the kernel has left zeros. */
static bool renew_data(struct injector *in, struct err *err) {
	struct resident *r = &in->resident;
	blob_place(&in->blob, r->at + RESIDENT_IMAGE_AT);
	const uint8_t *data = in->blob.bytes + in->blob.data_at;
	size_t n = in->blob.data_bytes;
	while (n > 0 && data[n - 1] == 0) {
		n--;
	}
	return tracee_write(&in->tracee, r->image_data_at, data, n, err);
}

static bool clean(struct injector *in, struct err *err) {
	struct resident *r = &in->resident;
	struct errand e = {0};
	// Another version's data cannot be made anew, and nobody will use it again
	bool is_ours = memcmp(r->image_id, in->blob.id, sizeof r->image_id) == 0;
	add_descriptor(in, &e);
	if (!add_mappings(in, &e, err)) {
		return false;
	}
	if (is_ours) {
		(void)errand_add(&e, SYS_madvise, r->image_data_at, r->image_data_bytes, MADV_DONTNEED);
	}
	if (!injector_send(in, &e, err) || (e.n_calls > 0 && e.calls[e.n_calls - 1].result != 0) ||
			(is_ours && !renew_data(in, err))) {
		return false;
	}
	r->header_at = 0;
	r->state = is_ours ? RESIDENT_EMPTY : RESIDENT_USED;
	return resident_write_head(in, err);
}

static bool restore(struct injector *in, bool *is_outside, struct err *err) {
	if (!injector_stop_all(in, err)) {
		return false;
	}
	bool ok = resident_restore(in, err);
	*is_outside = ok && !is_lived_in(in) && forget_resident(in);
	injector_resume(in);
	return ok;
}

bool resident_retire(struct injector *in, bool *is_clean, struct err *err) {
	*is_clean = false;
	for (unsigned i = 0; i < RETIRE_TRIES && !*is_clean; i++) {
		bool is_outside;
		if (i > 0) {
			clock_sleep_ns(1000000ull << (i - 1));
		}
		if (!restore(in, &is_outside, err)) {
			return false;
		}
		*is_clean = is_outside && clean(in, NULL);
	}
	return true;
}
