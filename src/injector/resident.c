// SPDX-License-Identifier: MIT
#include "injector/injector_parts.h"
#include "wire/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RETIRE_TRIES = 8 }; // with growing pauses between: 127 ms in all

static void sleep_ms(long ms) {
	(void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

// ---- finding

static bool is_resident(const struct injector *in, uint64_t at, struct resident *out) {
	return tracee_read(&in->tracee, at, out, sizeof *out) && out->magic == RESIDENT_MAGIC &&
			out->at + RESIDENT_AT == at;
}

/** An attached one must be dealt with first; then those that can be used at once are the best. */
static int rank(const struct injector *in, const struct resident *r) {
	bool is_ours = memcmp(r->image_id, in->blob.id, sizeof r->image_id) == 0;
	return r->state == RESIDENT_ATTACHED ? 3 : !is_ours ? 0 : r->state == RESIDENT_EMPTY ? 2 : 1;
}

bool resident_find(struct injector *in, struct err *err) {
	struct resident *r = malloc(sizeof *r);
	if (!r) {
		return err_memory(err);
	}
	bool ok = true;
	int best = 0;
	in->resident_at = 0;
	for (size_t i = 0; ok && i < in->space.mappings.n; i++) {
		const struct mapping *m = &in->space.mappings.items[i];
		if (!m->is_writable || m->is_shared || m->inode != 0 ||
				m->end - m->start < RESIDENT_BYTES || !is_resident(in, m->start, r)) {
			continue;
		}
		if (r->version != RESIDENT_VERSION) {
			ok = r->state != RESIDENT_ATTACHED ||
					err_set(err, ERR_UNSUPPORTED,
							"process %d has the recorder of another version of heaptrack in it; use that "
							"version, or restart the process",
							(int)in->pid);
		} else if (rank(in, r) > best) {
			best = rank(in, r);
			in->resident = *r;
			in->resident_at = m->start;
		}
	}
	free(r);
	return ok;
}

bool resident_is_in_use(const struct injector *in) {
	enum { LOOKS = 24, LOOK_MS = 50, OWNER_DIED = 0x40000000 };
	struct segment_header first, now;
	// A forked child has its parent's resident: nobody records the child by it
	if (in->resident.pid != in->pid_inside || in->resident.header_at == 0 ||
			!tracee_read(&in->tracee, in->resident.header_at, &first,
					offsetof(struct segment_header, children))) {
		return false;
	}
	for (unsigned i = 0; i < LOOKS; i++) {
		if (!tracee_read(&in->tracee, in->resident.header_at, &now,
					offsetof(struct segment_header, children)) ||
				(now.owner & OWNER_DIED) != 0 || now.owner == 0) {
			return false;
		}
		if (now.heartbeat != first.heartbeat) {
			return true;
		}
		sleep_ms(LOOK_MS);
	}
	return false;
}

// ---- writing

bool resident_write_head(struct injector *in, struct err *err) {
	// `mappings` behind the hooks is the recorder's to write, and what comes before `header_at` ours
	return tracee_write(&in->tracee, in->resident_at, &in->resident,
			offsetof(struct resident, mappings), err);
}

static uint64_t hook_at(const struct injector *in, uint32_t i) {
	return in->resident_at + offsetof(struct resident, hooks) + i * sizeof(struct resident_hook);
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
	return tracee_write(&in->tracee, hook_at(in, i) + offsetof(struct resident_hook, is_patched),
			&hook->is_patched, 1, err);
}

bool resident_restore(struct injector *in, struct err *err) {
	for (uint32_t i = 0; i < in->resident.n_hooks && i < RESIDENT_HOOKS; i++) {
		if (!restore_hook(in, i, err)) {
			return false;
		}
	}
	in->resident.state = RESIDENT_USED;
	return tracee_write(&in->tracee, in->resident_at + offsetof(struct resident, state),
			&in->resident.state, sizeof in->resident.state, err);
}

// ---- who is inside

static bool is_in(uint64_t word, const struct resident_range *ranges, size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (word - ranges[i].at < ranges[i].bytes) {
			return true;
		}
	}
	return false;
}

static bool stack_touches(const struct injector *in, uint64_t from, uint64_t to,
		const struct resident_range *ranges, size_t n) {
	enum { CHUNK = 32 << 10 };
	uint64_t words[CHUNK / 8];
	for (uint64_t at = from & ~7ull; at < to; at += CHUNK) {
		size_t bytes = to - at < CHUNK ? to - at : CHUNK;
		if (!tracee_read(&in->tracee, at, words, bytes)) {
			return true; // unknown
		}
		for (size_t i = 0; i < bytes / 8; i++) {
			if (is_in(words[i], ranges, n)) {
				return true;
			}
		}
	}
	return false;
}

bool threads_touch(struct injector *in, const struct resident_range *ranges, size_t n) {
	enum { RED_ZONE = 128 };
	struct process_space space;
	if (!process_space_read(&space, in->pid, NULL)) {
		return true;
	}
	bool touches = false;
	for (size_t i = 0; i < in->tracee.threads.n && !touches; i++) {
		const struct user_regs_struct *regs = &in->tracee.threads.items[i].regs;
		const struct mapping *stack = process_space_at(&space, regs->rsp);
		touches = is_in(regs->rip, ranges, n) || !stack ||
				stack_touches(in,
						regs->rsp - RED_ZONE > stack->start ? regs->rsp - RED_ZONE : stack->start,
						stack->end, ranges, n);
	}
	process_space_finish(&space);
	return touches;
}

// ---- cleaning

static bool call(struct injector *in, long number, uint64_t a, uint64_t b, uint64_t c,
		int64_t *result, struct err *err) {
	const uint64_t arguments[6] = {a, b, c};
	return tracee_system_call(&in->tracee, number, arguments, result, err);
}

/** As it was made: the data of the image's file, zeros behind. */
static bool renew_data(struct injector *in, struct err *err) {
	struct resident *r = &in->resident;
	int64_t result;
	if (memcmp(r->image_id, in->blob.id, sizeof r->image_id) != 0) {
		return true; // another version's: nobody will use it again
	}
	if (!call(in, SYS_madvise, r->image_data_at, r->image_data_bytes, MADV_DONTNEED, &result,
				err)) {
		return false;
	}
	blob_place(&in->blob, r->at + RESIDENT_IMAGE_AT);
	const uint8_t *data = in->blob.bytes + in->blob.data_at;
	size_t n = in->blob.data_bytes;
	while (result == 0 && n > 0 && data[n - 1] == 0) {
		n--; // zeros are there already
	}
	return tracee_write(&in->tracee, r->image_data_at, data, n, err);
}

static bool unmap_all(struct injector *in, struct err *err) {
	struct resident *r = &in->resident;
	for (unsigned i = 0; i < RESIDENT_MAPPINGS; i++) {
		int64_t result;
		if (r->mappings[i].bytes != 0 &&
				!call(in, SYS_munmap, r->mappings[i].at, r->mappings[i].bytes, 0, &result, err)) {
			return false;
		}
		r->mappings[i] = (struct resident_range){0};
	}
	return tracee_write(&in->tracee, in->resident_at + offsetof(struct resident, mappings),
			r->mappings, sizeof r->mappings, err);
}

/** The descriptor of the segment, if an attach was broken off before the recorder closed it. */
static bool close_descriptor(struct injector *in, struct err *err) {
	char path[64], target[64];
	int64_t result;
	if (in->resident.fd < 0 || in->resident.pid != in->pid_inside) {
		return true;
	}
	(void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)in->pid, (int)in->resident.fd);
	ssize_t n = readlink(path, target, sizeof target - 1);
	target[n > 0 ? n : 0] = '\0';
	in->resident.fd = -1;
	return strncmp(target, "/memfd:" SEGMENT_MAPPING_NAME, 7 + strlen(SEGMENT_MAPPING_NAME)) != 0 ||
			call(in, SYS_close, (uint64_t)strtol(strrchr(path, '/') + 1, NULL, 10), 0, 0, &result,
					err);
}

/** A forked child has notes of threads that only its parent has. */
static bool has_thread(const struct injector *in, uint32_t tid) {
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/task/%u", (int)in->pid, tid);
	// Ids are the process's own: only where they are ours as well can they be looked up
	return in->pid != in->pid_inside || access(path, F_OK) == 0;
}

/**
 * Does any thread depend on the recorder's data? Those that have begun a call and not ended it say so
 * themselves; those between that and the process's own code stand in ours, or are in a handler of a
 * signal that came just there, which needs nothing but the code. A thread that waits for a child of vfork
 * stands in the kernel.
 */
static bool is_lived_in(const struct injector *in) {
	const struct resident *r = &in->resident;
	for (size_t i = 0; i < in->tracee.threads.n; i++) {
		uint64_t rip = in->tracee.threads.items[i].regs.rip;
		bool is_inside = rip - r->text_at < r->text_bytes;
		for (uint32_t k = 0; k < r->n_islands && k < RESIDENT_ISLANDS; k++) {
			is_inside |= rip - r->islands[k].at < r->islands[k].bytes;
		}
		if (is_inside) {
			return true;
		}
	}
	size_t bytes = r->n_threads * sizeof(struct resident_thread);
	struct resident_thread *threads = r->n_threads < 1 << 20 ? malloc(bytes) : NULL;
	bool is_lived_in = !threads || !tracee_read(&in->tracee, r->threads_at, threads, bytes);
	for (size_t i = 0; !is_lived_in && i < r->n_threads; i++) {
		is_lived_in = threads[i].inside != 0 && has_thread(in, threads[i].tid);
	}
	free(threads);
	return is_lived_in;
}

bool resident_clean(struct injector *in, struct err *err) {
	struct resident *r = &in->resident;
	bool can_work = in->tracee.threads.n > 0 && in->tracee.threads.items[0].pid == in->pid;
	if (!can_work || is_lived_in(in)) {
		return false;
	}
	if (!tracee_read(&in->tracee, in->resident_at + offsetof(struct resident, mappings),
				r->mappings, sizeof r->mappings) ||
			!unmap_all(in, err) || !close_descriptor(in, err) || !renew_data(in, err)) {
		return false;
	}
	r->header_at = 0;
	// With data that could not be made anew it is nobody's to use again
	bool is_ours = memcmp(r->image_id, in->blob.id, sizeof r->image_id) == 0;
	r->state = is_ours ? RESIDENT_EMPTY : RESIDENT_USED;
	return resident_write_head(in, err);
}

bool resident_retire(struct injector *in, bool *is_clean, struct err *err) {
	*is_clean = false;
	for (unsigned i = 0; i < RETIRE_TRIES && !*is_clean; i++) {
		if (i > 0) {
			sleep_ms(1 << (i - 1));
		}
		if (!injector_stop_all(in, err)) {
			return false;
		}
		bool ok = resident_restore(in, err);
		*is_clean = ok && resident_clean(in, NULL);
		injector_resume(in);
		if (!ok) {
			return false;
		}
	}
	return true;
}
