// SPDX-License-Identifier: MIT
/*
 * A resident is recognized by the magic number at the beginning of a private mapping.
 *
 * Hooks are removed and the rest cleaned in two steps. With all threads stopped, the original bytes
 * are restored and, if no thread is inside the recorder, its pointer to the resident is cleared.
 * Calls in progress then bypass the recorder, so the rest needs only one stopped thread: what the
 * recorder mapped is unmapped, and its data are reset.
 */
#include "injector/resident/resident.h"

#include "machine.h"
#include "regs.h"

enum {
	RETIRE_TRIES = 8, // with growing pauses between: 127 ms in all
};

// ---- finding

/** How far a resident's last errand has come. */
static uint32_t errand_state(const struct injector *in, uint64_t at) {
	uint32_t state = ERRAND_NONE;
	(void)tracee_read(&in->tracee, at + RESIDENT_ERRAND_AT + offsetof(struct errand, state), &state,
			sizeof state);
	return state;
}

bool resident_is_free(const struct injector *in) {
	return in->resident.state == RESIDENT_EMPTY && errand_state(in, in->resident.at) == ERRAND_NONE;
}

void resident_use_for_errands(struct injector *in) {
	const struct resident *r = &in->resident;
	in->tracee.errands.code = r->errand_code;
	in->tracee.errands.errand = r->at + RESIDENT_ERRAND_AT;
	in->tracee.errands.stack_top = r->at + RESIDENT_STACK_AT + RESIDENT_STACK_BYTES;
}

/** An attached one first, since it must be retired; then one that can be used at once. */
static int rank(const struct injector *in, const struct resident *r) {
	bool is_ours = memcmp(r->image_id, in->blob.id, sizeof r->image_id) == 0;
	return r->state == RESIDENT_ATTACHED ? 3 : !is_ours ? 0 : r->state == RESIDENT_EMPTY ? 2 : 1;
}

bool resident_find(struct injector *in, struct err *err) {
	FREED struct resident *r = malloc(sizeof *r);
	if (!r) {
		return err_memory(err);
	}
	bool ok = true;
	int best = 0;
	in->resident_at = 0;
	EACH_WHILE(m, in->space.mappings, ok) {
		if (!m->is_writable || m->is_shared || m->inode != 0 ||
				m->end - m->start < RESIDENT_BYTES ||
				!tracee_read(&in->tracee, m->start, r, sizeof *r) || r->magic != RESIDENT_MAGIC ||
				r->at + RESIDENT_AT != m->start) {
			continue;
		}
		if (r->version != RESIDENT_VERSION) {
			ok = r->state != RESIDENT_ATTACHED ||
					err_unsupported(err,
							"process %d contains the recorder of another version of heaptrack; "
							"use that version, or restart the process",
							(int)in->pid);
		} else if (rank(in, r) > best) {
			best = rank(in, r);
			in->resident = *r;
			in->resident_at = m->start;
			resident_use_for_errands(in);
		}
	}
	return ok;
}

// ---- errands of a heaptrack that was killed

/**
 * Is there a resident with an unfinished errand at `head`, its first word after the guard page?
 * `has_thread`: with a thread on it; not in a forked child, or if heaptrack was killed too early.
 */
static bool is_pending(const struct injector *in, uint64_t head, bool has_thread) {
	enum { BYTES = RESIDENT_ERRAND_AT + ERRAND_BYTES - RESIDENT_STACK_AT };
	uint64_t magic, at = head - RESIDENT_AT;
	if (!tracee_read(&in->tracee, head, &magic, sizeof magic) || magic != RESIDENT_MAGIC) {
		return false;
	}
	uint32_t state = errand_state(in, at);
	return (state == ERRAND_BEGUN || state == ERRAND_DONE) &&
			(!has_thread ||
					FIND_IN(t, in->tracee.threads,
							regs_sp(&t->regs) - (at + RESIDENT_STACK_AT) < BYTES));
}

static bool has_pending(const struct injector *in, bool has_thread) {
	return FIND_IN(m, in->space.mappings,
			!m->is_shared && m->inode == 0 && m->end - m->start >= RESIDENT_BYTES &&
					(is_pending(in, m->start, has_thread) ||
							// As it was mapped
							is_pending(in, m->start + RESIDENT_AT, has_thread)));
}

bool resident_await_errands(struct injector *in, struct err *err) {
	enum { LOOKS = 80, LOOK_MS = 100 }; // together more than ERRAND_PATIENCE_S
	for (unsigned i = 0; i < LOOKS; i++) {
		if (!has_pending(in, false)) {
			return true;
		}
		if (!injector_stop(in, true, err)) {
			return false;
		}
		bool waits = has_pending(in, true);
		injector_resume(in);
		if (!waits) {
			return true;
		}
		clock_sleep_ns(LOOK_MS * 1000000ull);
	}
	return err_failed(err,
			"a thread of process %d is waiting for a heaptrack that was killed; try again in a "
			"few seconds",
			(int)in->pid);
}

bool resident_is_kept(const struct injector *in) {
	const struct resident *r = &in->resident;
	struct process_usage helper;
	bool is_copy = r->pid != in->pid_inside && !r->token[0]; // by which nobody records
	return r->guardian != 0 && r->guardian != getpid() && !is_copy &&
			process_usage((pid_t)r->guardian, &helper) && helper.state != 'Z' &&
			helper.start_ticks == r->guardian_ticks;
}

bool resident_is_in_use(const struct injector *in) {
	enum { LOOKS = 40, LOOK_MS = 50, OWNER_DIED = 0x40000000 };
	struct segment_header first, now;
	// A forked child has a copy of its parent's resident, by which nobody records
	if (in->resident.pid != in->pid_inside || in->resident.header_at == 0 ||
			!tracee_read(&in->tracee, in->resident.header_at, &first,
					offsetof(struct segment_header, children))) {
		return false;
	}
	for (unsigned i = 0; i < LOOKS; i++) {
		if (!tracee_read(&in->tracee, in->resident.header_at, &now,
					offsetof(struct segment_header, children)) ||
				(now.common.owner & OWNER_DIED) != 0 || now.common.owner == 0) {
			return false;
		}
		if (now.common.heartbeat != first.common.heartbeat) {
			return true;
		}
		clock_sleep_ns(LOOK_MS * 1000000ull);
	}
	return false;
}

// ---- writing

bool resident_write_head(struct injector *in, struct err *err) {
	// The recorder writes `mappings`, which comes after the hooks
	return tracee_write(&in->tracee, in->resident_at, &in->resident,
			offsetof(struct resident, mappings), err);
}

bool resident_write_image(struct injector *in, int protection, struct err *err) {
	uint64_t image = in->resident.at + RESIDENT_IMAGE_AT;
	(void)blob_place(&in->blob, image);
	EACH_OF(part, in->blob.parts, in->blob.n_parts) {
		const uint8_t *bytes = in->blob.bytes + part->at;
		size_t n = (part->protection & protection) == protection ? part->bytes : 0;
		while (n > 0 && bytes[n - 1] == 0) {
			n--; // mapped memory is zero
		}
		if (!tracee_write(&in->tracee, image + part->at, bytes, n, err)) {
			return false;
		}
	}
	return true;
}

static bool restore_hook(struct injector *in, uint32_t i, struct err *err) {
	struct resident_hook *hook = &in->resident.hooks[i];
	uint8_t now[RESIDENT_PATCH_MAX];
	if (!hook->is_patched || hook->n_bytes > RESIDENT_PATCH_MAX) {
		return true;
	}
	// Its module may be gone, and another in its place
	bool is_there = tracee_read(&in->tracee, hook->address, now, hook->n_bytes) &&
			memcmp(now, hook->patch, hook->n_bytes) == 0;
	if (is_there && !tracee_write(&in->tracee, hook->address, hook->original, hook->n_bytes, err)) {
		return false;
	}
	hook->is_patched = 0;
	return tracee_write(&in->tracee, INJECTOR_FIELD(in, hooks[i].is_patched), err);
}

bool resident_restore(struct injector *in, struct err *err) {
	if (!ALL(i, (uint32_t)RESIDENT_HOOKS, i >= in->resident.n_hooks || restore_hook(in, i, err))) {
		return false;
	}
	in->resident.state = RESIDENT_USED;
	return tracee_write(&in->tracee, INJECTOR_FIELD(in, state), err);
}

// ---- where threads stand and return to

static bool is_in(uint64_t word, const struct resident_range *ranges, size_t n) {
	return ANY(i, n, word - ranges[i].at < ranges[i].bytes);
}

static bool stack_touches(const struct injector *in, uint64_t from, uint64_t to,
		const struct resident_range *ranges, size_t n) {
	enum { CHUNK = 32 << 10 };
	uint64_t words[CHUNK / 8];
	for (uint64_t at = from & ~7ull; at < to; at += CHUNK) {
		size_t bytes = to - at < CHUNK ? to - at : CHUNK;
		if (!tracee_read(&in->tracee, at, words, bytes) || // unknown
				ANY(i, bytes / 8, is_in(words[i], ranges, n))) {
			return true;
		}
	}
	return false;
}

bool threads_touch(struct injector *in, const struct resident_range *ranges, size_t n) {
	SCOPED(process_space) space;
	if (!process_space_read(&space, in->pid, NULL)) {
		return true;
	}
	bool touches = false;
	EACH_WHILE(t, in->tracee.threads, !touches) {
		uint64_t sp = regs_sp(&t->regs), low = sp - MACHINE_RED_ZONE;
		const struct smaps_area *stack = FIND_IN(m, space.mappings, sp >= m->start && sp < m->end);
		touches = is_in(regs_pc(&t->regs), ranges, n) || !stack ||
				stack_touches(in, low > stack->start ? low : stack->start, stack->end, ranges, n);
	}
	return touches;
}

// ---- is anybody inside?

/** A forked child has its parent's notes of threads that it lacks. */
static bool is_inside(const struct injector *in, const struct resident_thread *thread) {
	// Ids are of the process's pid namespace: they can be looked up only if it is ours as well
	return thread->inside != 0 &&
			(in->pid != in->pid_inside ||
					access(PROCESS_PATH(in->pid, "task/%u", thread->tid), F_OK) == 0);
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

/**
 * Does any thread depend on the recorder's data? One in the middle of a call has noted so itself.
 * One between that note and the process's own code stands in the recorder's code, or in the handler
 * of a signal that came just there: it needs only the code and finds the pointer cleared. A thread
 * that waits for a child of vfork is not stopped: it stands in the kernel.
 */
static bool is_lived_in(const struct injector *in) {
	const struct resident *r = &in->resident;
	uint32_t has_tids, n = r->n_islands < RESIDENT_ISLANDS ? r->n_islands : RESIDENT_ISLANDS;
	bool knows_keys = r->n_threads == 1u << RESIDENT_THREADS_LOG2 &&
			tracee_read(&in->tracee, r->has_tids_at, &has_tids, sizeof has_tids) && has_tids == 0;
	EACH(t, in->tracee.threads) {
		uint64_t pc = regs_pc(&t->regs);
		if (pc - r->text_at < r->text_bytes || is_in(pc, r->islands, n) ||
				(knows_keys && that_is_inside(in, regs_thread_key(&t->regs)))) {
			return true;
		}
	}
	size_t bytes = r->n_threads * sizeof(struct resident_thread);
	FREED struct resident_thread *threads = knows_keys ? NULL : malloc(bytes);
	return !knows_keys &&
			(!threads || !tracee_read(&in->tracee, r->threads_at, threads, bytes) ||
					ANY(i, r->n_threads, is_inside(in, &threads[i])));
}

// ---- cleaning

/** Close the segment's descriptor, if an attach broke off before the recorder did. */
static void add_descriptor(struct injector *in, struct errand *e) {
	static const char ours[] = "/memfd:" SEGMENT_MAPPING_NAME;
	char target[64];
	if (in->resident.fd < 0 || in->resident.pid != in->pid_inside) {
		return;
	}
	(void)process_link(in->pid, FORMAT(16, "fd/%d", (int)in->resident.fd), target, sizeof target);
	if (strncmp(target, ours, sizeof ours - 1) == 0) {
		(void)errand_add(e, SYS_close, (uint64_t)in->resident.fd, 0, 0);
	}
	in->resident.fd = -1;
}

/** The list is emptied first: at a second attempt other mappings could be in those places. */
static bool add_mappings(struct injector *in, struct errand *e) {
	struct resident *r = &in->resident;
	EACH_OF_THAT(m, r->mappings, RESIDENT_MAPPINGS, m->bytes != 0) {
		(void)errand_add(e, SYS_munmap, m->at, m->bytes, 0);
	}
	memset(r->mappings, 0, sizeof r->mappings);
	r->n_forks = 0;
	return tracee_write(&in->tracee, INJECTOR_FIELD(in, mappings), NULL) &&
			tracee_write(&in->tracee, INJECTOR_FIELD(in, n_forks), NULL);
}

static bool clean(struct injector *in) {
	struct resident *r = &in->resident;
	struct errand e = {0};
	// Another version's data cannot be reset, and nobody will use them again
	bool is_ours = memcmp(r->image_id, in->blob.id, sizeof r->image_id) == 0;
	add_descriptor(in, &e);
	if (!add_mappings(in, &e)) {
		return false;
	}
	if (is_ours) {
		(void)errand_add(&e, SYS_madvise, r->image_data_at, r->image_data_bytes, MADV_DONTNEED);
	}
	if (!injector_send(in, &e, NULL) || (e.n_calls > 0 && e.calls[e.n_calls - 1].result != 0) ||
			(is_ours && !resident_write_image(in, PROT_WRITE, NULL))) {
		return false;
	}
	r->header_at = 0;
	r->guardian = 0;
	r->state = is_ours ? RESIDENT_EMPTY : RESIDENT_USED;
	return resident_write_head(in, NULL);
}

/** If all threads are outside, their calls bypass the recorder from then on. */
static bool restore(struct injector *in, bool *is_outside, struct err *err) {
	const uint64_t none = 0;
	struct resident *r = &in->resident;
	if (!injector_stop(in, true, err)) {
		return false;
	}
	bool ok = resident_restore(in, err);
	*is_outside = ok && !is_lived_in(in) &&
			tracee_write(&in->tracee, r->pointer_at, &none, sizeof none, NULL) &&
			tracee_read(&in->tracee, INJECTOR_FIELD(in, mappings));
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
		*is_clean = is_outside && clean(in);
	}
	return true;
}
