// SPDX-License-Identifier: MIT
#include "injector/injector.h"

#include "base/vec.h"
#include "injector/injector_parts.h"
#include "sys/clock.h"
#include "wire/segment.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DONE_NUMBER \
	0x6865617 // recorder/inject/layout.h: the recorder's folder is not ours to include

enum {
	PLAN_TRIES = 6,   // the process may map something where we wanted to
	PATCH_TRIES = 60, // until no thread returns into what is replaced
};

// ---- stops

/** An exec takes the resident away, and with it all that we know. */
static bool is_same_program(struct injector *in, struct err *err) {
	uint64_t magic;
	if (in->resident_at == 0 ||
			(tracee_read(&in->tracee, in->resident_at, &magic, sizeof magic) &&
					magic == RESIDENT_MAGIC)) {
		return true;
	}
	in->is_attached = false;
	tracee_resume(&in->tracee);
	return err_set(err, ERR_NOT_FOUND, "process %d has ended, or runs another program now",
			(int)in->pid);
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
	size_t n_threads = in->tracee.threads.n;
	tracee_resume(&in->tracee);
	uint64_t pause_ns = clock_now_ns() - in->stopped_ns;
	r->n_stops++;
	if (!in->has_stopped_all) {
		r->one_pause_ns += pause_ns;
		return;
	}
	r->n_threads = (uint32_t)n_threads;
	r->all_pause_ns += pause_ns;
	r->longest_pause_ns = pause_ns > r->longest_pause_ns ? pause_ns : r->longest_pause_ns;
}

// ---- what is there

static uint64_t sum_of_modules(const struct process_space *s) {
	uint64_t sum = 14695981039346656037ull;
	for (size_t i = 0; i < s->mappings.n; i++) {
		const struct mapping *m = &s->mappings.items[i];
		if (m->is_executable && m->inode != 0) {
			sum = (sum ^ m->start ^ m->inode << 20) * 1099511628211ull;
		}
	}
	return sum;
}

static void forget_process(struct injector *in) {
	plan_finish(&in->plan);
	in->plan = (struct plan){0};
	vec_finish(&in->functions);
	modules_code_close(&in->modules);
	process_space_finish(&in->space);
}

static bool look_at_process(struct injector *in, struct err *err) {
	forget_process(in);
	if (!process_space_read(&in->space, in->pid, err) ||
			!modules_code_open(&in->modules, &in->space, in->pid, err) ||
			!find_functions(&in->functions, &in->modules, err)) {
		return false;
	}
	in->modules_sum = sum_of_modules(&in->space);
	return true;
}

/** An instruction "syscall", and the clock, in the vdso, which every process has. */
static bool find_vdso(struct injector *in, uint64_t *clock, struct err *err) {
	for (size_t i = 0; i < in->space.mappings.n; i++) {
		const struct mapping *m = &in->space.mappings.items[i];
		size_t n = m->end - m->start;
		uint8_t *bytes = strcmp(m->name, "[vdso]") == 0 ? malloc(n) : NULL;
		struct elf_image image;
		if (!bytes || !tracee_read(&in->tracee, m->start, bytes, n)) {
			free(bytes);
			continue;
		}
		const uint8_t *call = memmem(bytes, n, "\x0f\x05", 2);
		in->tracee.syscall_at = call ? m->start + (uint64_t)(call - bytes) : 0;
		struct elf_symbols symbols;
		struct elf_symbol symbol;
		bool has_symbols = elf_image_init(&image, slice_of(bytes, n), NULL) &&
				elf_symbols_init(&symbols, &image, SHT_DYNSYM);
		while (has_symbols && elf_symbols_next(&symbols, &symbol)) {
			if (strcmp(symbol.name, "__vdso_clock_gettime") == 0 && symbol.section != SHN_UNDEF) {
				*clock = m->start + symbol.address;
			}
		}
		free(bytes);
	}
	return in->tracee.syscall_at != 0 ||
			err_set(err, ERR_UNSUPPORTED,
					"process %d has no vdso, by which it could be made to call the system",
					(int)in->pid);
}

static bool has_allocator(const struct injector *in, struct err *err) {
	if (in->functions.n > 0) {
		return true;
	}
	struct buffer names = {0};
	for (size_t i = 0; i < in->modules.n; i++) {
		buffer_printf(&names, "%s%s", i > 0 ? ", " : "", in->modules.items[i].name);
	}
	buffer_u8(&names, 0);
	bool ok = err_set(err, ERR_NOT_FOUND,
			"no allocation function is known by name in process %d (%.300s); if the program is stripped, "
			"run one that has its symbols",
			(int)in->pid, names.failed ? "" : (const char *)names.data);
	buffer_finish(&names);
	return ok;
}

// ---- the resident

static void describe_resident(struct injector *in, uint64_t at, uint64_t clock) {
	struct resident *r = &in->resident;
	uint64_t image = at + RESIDENT_IMAGE_AT;
	if (in->is_fresh) {
		*r = (struct resident){.magic = RESIDENT_MAGIC, .version = RESIDENT_VERSION};
	}
	in->resident_at = at + RESIDENT_AT;
	r->at = at;
	r->bytes = RESIDENT_IMAGE_AT + in->blob.n_bytes;
	memcpy(r->image_id, in->blob.id, sizeof r->image_id);
	r->image_data_at = image + in->blob.data_at;
	r->image_data_bytes = in->blob.data_bytes;
	r->text_at = image + in->blob.text_at;
	r->text_bytes = in->blob.text_bytes;
	r->threads_at = image + in->blob.threads_at;
	r->n_threads = in->blob.threads_bytes / sizeof(struct resident_thread);
	r->frames_at = image + in->blob.frames_at;
	r->header_at = 0;
	r->pid = in->pid_inside;
	r->fd = -1;
	r->find_object = find_symbol(&in->modules, "ld-linux", "_dl_find_object");
	r->in_loader = find_symbol(&in->modules, "ld-linux", "__libc_stack_end");
	r->clock = clock;
	r->stack_end = in->space.stack_start;
}

static bool protect(struct injector *in, uint64_t at, uint64_t bytes, int protection,
		struct err *err) {
	const uint64_t arguments[6] = {at, bytes, (uint64_t)protection};
	int64_t result;
	if (!tracee_system_call(&in->tracee, SYS_mprotect, arguments, &result, err)) {
		return false;
	}
	return result == 0 ||
			err_system(err, (int)-result, "process %d cannot protect memory", (int)in->pid);
}

static void unmap(struct injector *in, uint64_t at, uint64_t bytes) {
	const uint64_t arguments[6] = {at, bytes};
	int64_t result;
	(void)tracee_system_call(&in->tracee, SYS_munmap, arguments, &result, NULL);
}

/** Map a new one and give its parts their protection. One thread is stopped. */
static bool map_resident(struct injector *in, uint64_t clock, struct err *err) {
	uint64_t at;
	int errnum;
	uint64_t bytes = RESIDENT_IMAGE_AT + in->blob.n_bytes;
	if (!tracee_map(&in->tracee, 0, bytes, PROT_NONE, MAP_NORESERVE, &at, &errnum, err)) {
		return false;
	}
	bool ok = protect(in, at + RESIDENT_AT, RESIDENT_BYTES + RESIDENT_STACK_BYTES,
			PROT_READ | PROT_WRITE, err);
	for (unsigned i = 0; ok && i < in->blob.n_parts; i++) {
		const struct blob_part *part = &in->blob.parts[i];
		ok = protect(in, at + RESIDENT_IMAGE_AT + part->at, part->bytes, part->protection, err);
	}
	if (!ok) {
		unmap(in, at, bytes);
		return false;
	}
	describe_resident(in, at, clock);
	return true;
}

static bool write_image(struct injector *in, struct err *err) {
	uint64_t image = in->resident.at + RESIDENT_IMAGE_AT;
	blob_place(&in->blob, image);
	for (unsigned i = 0; i < in->blob.n_parts; i++) {
		const struct blob_part *part = &in->blob.parts[i];
		const uint8_t *bytes = in->blob.bytes + part->at;
		size_t n = part->bytes;
		while (n > 0 && bytes[n - 1] == 0) {
			n--; // mapped memory is zero
		}
		if (!tracee_write(&in->tracee, image + part->at, bytes, n, err)) {
			return false;
		}
	}
	return true;
}

static int take_descriptor(pid_t pid, int64_t fd, struct err *err) {
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	int ours = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)fd, 0);
	if (ours < 0) {
		(void)err_system(err, errno, "cannot take over the memory of process %d", (int)pid);
	}
	if (process >= 0) {
		(void)close(process);
	}
	return ours;
}

/** Make the memfd: its name must stand somewhere in the process. One thread is stopped. */
static int make_memory(struct injector *in, struct err *err) {
	static const char name[] = SEGMENT_MAPPING_NAME;
	uint64_t name_at = in->resident.at + RESIDENT_STACK_AT;
	const uint64_t arguments[6] = {name_at, MFD_CLOEXEC};
	int64_t fd;
	if (!tracee_write(&in->tracee, name_at, name, sizeof name, err) ||
			!tracee_system_call(&in->tracee, SYS_memfd_create, arguments, &fd, err)) {
		return -1;
	}
	if (fd < 0) {
		(void)err_system(err, (int)-fd, "process %d cannot make shared memory", (int)in->pid);
		return -1;
	}
	in->resident.fd = (int32_t)fd;
	if (!resident_write_head(in, err)) {
		return -1;
	}
	return take_descriptor(in->pid, fd, err);
}

int injector_memory(struct injector *in, struct err *err) {
	uint64_t clock = 0;
	if (!find_vdso(in, &clock, err) || !injector_stop_one(in, err)) {
		return -1;
	}
	bool ok = true;
	in->is_fresh = in->resident_at == 0;
	if (in->is_fresh) {
		ok = map_resident(in, clock, err) && write_image(in, err);
	} else {
		describe_resident(in, in->resident.at, clock);
	}
	int fd = ok ? make_memory(in, err) : -1;
	injector_resume(in);
	return fd;
}

// ---- patching

static bool map_islands(struct injector *in, bool *is_taken, struct err *err) {
	struct plan *p = &in->plan;
	*is_taken = false;
	for (size_t i = 0; i < p->islands.n; i++) {
		struct island *island = &p->islands.items[i];
		uint64_t at;
		int errnum;
		if (island->at == 0 || in->resident.n_islands == RESIDENT_ISLANDS) {
			continue;
		}
		if (!tracee_map(&in->tracee, island->at, island->bytes, PROT_READ | PROT_EXEC,
					MAP_FIXED_NOREPLACE, &at, &errnum, err)) {
			*is_taken = errnum == EEXIST;
			return false;
		}
		if (at != island->at) { // a kernel that does not know the flag
			unmap(in, at, island->bytes);
			*is_taken = true;
			return false;
		}
		island->is_mapped = true;
		if (!tracee_write(&in->tracee, at, island->code, island->bytes, err)) {
			return false;
		}
		in->resident.islands[in->resident.n_islands++] = (struct resident_range){at, island->bytes};
	}
	return true;
}

static void unmap_islands(struct injector *in) {
	for (size_t i = 0; i < in->plan.islands.n; i++) {
		struct island *island = &in->plan.islands.items[i];
		if (island->is_mapped) {
			unmap(in, island->at, island->bytes);
		}
	}
}

/** Plan, and map what is planned: all or nothing. One thread is stopped afterwards. */
static bool plan_and_map(struct injector *in, struct err *err) {
	uint32_t n_hooks = in->resident.n_hooks, n_islands = in->resident.n_islands;
	for (unsigned i = 0; i < PLAN_TRIES; i++) {
		bool is_taken = false;
		if (!look_at_process(in, err) || !plan_make(in, err) || !injector_stop_one(in, err)) {
			return false;
		}
		if (map_islands(in, &is_taken, err)) {
			return true;
		}
		unmap_islands(in);
		injector_resume(in);
		in->resident.n_hooks = n_hooks;
		in->resident.n_islands = n_islands;
		if (!is_taken) {
			return false;
		}
	}
	return err_set(err, ERR_SYSTEM, "process %d maps memory faster than we do; try again",
			(int)in->pid);
}

static struct resident_hook *hook_of(struct injector *in, const struct planned *planned) {
	return &in->resident.hooks[planned->hook];
}

/** Move a thread that stands within a beginning to the same instruction of the moved one. */
static void move_thread(struct injector *in, struct tracee_thread *thread) {
	for (size_t i = 0; i < in->plan.hooks.n; i++) {
		const struct planned *planned = &in->plan.hooks.items[i];
		const struct resident_hook *hook = hook_of(in, planned);
		uint64_t into = thread->regs.rip - hook->address;
		if (planned->is_reused || hook->is_patched || into == 0 || into >= hook->n_bytes) {
			continue;
		}
		for (unsigned s = 0; s < planned->moved.n_steps; s++) {
			if (planned->moved.from[s] == into) {
				thread->regs.rip = hook->moved + planned->moved.to[s];
				thread->is_changed = true;
			}
		}
	}
}

/** May the beginnings be written over? Nobody stands in one, nobody returns into one. */
static bool is_safe(struct injector *in) {
	struct resident_range ranges[RESIDENT_HOOKS];
	size_t n = 0;
	for (size_t i = 0; i < in->plan.hooks.n; i++) {
		const struct resident_hook *hook = hook_of(in, &in->plan.hooks.items[i]);
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
	uint64_t at = in->resident_at + offsetof(struct resident, hooks) + index * sizeof *hook;
	uint8_t now[RESIDENT_PATCH_MAX];
	if (hook->is_patched || !tracee_read(&in->tracee, hook->address, now, hook->n_bytes) ||
			memcmp(now, hook->original, hook->n_bytes) != 0) {
		return true; // it is already, or the module has gone since
	}
	hook->is_patched = 1;
	return tracee_write(&in->tracee, at, hook, sizeof *hook, err) &&
			tracee_write(&in->tracee, hook->address, hook->patch, hook->n_bytes, err);
}

/** Stop all at a moment when it is safe. */
static bool stop_all_safely(struct injector *in, struct err *err) {
	for (unsigned i = 0; i < PATCH_TRIES; i++) {
		if (i > 0) {
			(void)nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
		}
		if (!injector_stop_all(in, err)) {
			return false;
		}
		if (is_safe(in)) {
			return true;
		}
		injector_resume(in);
	}
	return err_set(err, ERR_SYSTEM,
			"a thread of process %d stays at the beginning of an allocation function; nothing was "
			"changed",
			(int)in->pid);
}

static bool patch_all(struct injector *in, struct err *err) {
	if (!stop_all_safely(in, err)) {
		return false;
	}
	in->resident.state = RESIDENT_ATTACHED;
	bool ok = tracee_write(&in->tracee, in->resident_at + offsetof(struct resident, state),
			&in->resident.state, sizeof in->resident.state, err);
	for (size_t i = 0; ok && i < in->plan.hooks.n; i++) {
		ok = patch_hook(in, in->plan.hooks.items[i].hook, err);
	}
	if (!ok) {
		(void)resident_restore(in, NULL);
	}
	injector_resume(in);
	return ok;
}

static void count(struct injector *in) {
	const struct found_function *last = NULL;
	in->report.n_functions = in->report.n_modules = 0;
	for (size_t i = 0; i < in->plan.hooks.n; i++) {
		const struct planned *planned = &in->plan.hooks.items[i];
		in->report.n_functions += hook_of(in, planned)->is_patched;
		in->report.n_modules += !last || last->module_start != planned->function->module_start;
		last = planned->function;
	}
}

// ---- the steps

struct injector *injector_create(pid_t pid, const char *recorder, struct err *err) {
	struct injector *in = calloc(1, sizeof *in);
	if (!in) {
		(void)err_memory(err);
		return NULL;
	}
	in->pid = pid;
	in->tracee.memory = -1;
	if (!refuse_or_go_on(pid, &in->pid_inside, err) || !blob_open(&in->blob, recorder, err) ||
			!tracee_open(&in->tracee, pid, err) || !look_at_process(in, err) ||
			!has_allocator(in, err) || !resident_find(in, err)) {
		goto fail;
	}
	if (in->resident_at != 0 && in->resident.state != RESIDENT_EMPTY) {
		bool is_clean = false;
		uint64_t clock;
		if (in->resident.state == RESIDENT_ATTACHED && resident_is_in_use(in)) {
			(void)err_set(err, ERR_UNSUPPORTED,
					"process %d is being recorded already, by another heaptrack; stop that one first",
					(int)pid);
			goto fail;
		}
		if (!find_vdso(in, &clock, err) || !resident_retire(in, &is_clean, err)) {
			goto fail;
		}
		bool is_ours = memcmp(in->resident.image_id, in->blob.id, sizeof in->blob.id) == 0;
		in->resident_at = is_clean && is_ours ? in->resident_at : 0;
	}
	return in;

fail:
	injector_destroy(in);
	return NULL;
}

void injector_destroy(struct injector *in) {
	if (!in) {
		return;
	}
	forget_process(in);
	tracee_close(&in->tracee);
	blob_close(&in->blob);
	buffer_finish(&in->description);
	free(in);
}

pid_t injector_pid_inside(const struct injector *in) {
	return in->pid_inside;
}

bool injector_attach(struct injector *in, struct err *err) {
	int64_t is_open = 0;
	if (!plan_and_map(in, err)) {
		return false;
	}
	uint64_t image = in->resident.at + RESIDENT_IMAGE_AT;
	bool ok = resident_write_head(in, err) &&
			tracee_call(&in->tracee, image + in->blob.begin_at, in->resident_at,
					in->resident.at + RESIDENT_STACK_AT + RESIDENT_STACK_BYTES - 64,
					image + in->blob.done_at, DONE_NUMBER, &is_open, err);
	injector_resume(in);
	if (ok && is_open != 1) {
		ok = err_set(err, ERR_SYSTEM,
				"the recorder could not map its memory in process %d; is its address space limited "
				"(ulimit -v)?",
				(int)in->pid);
	}
	in->resident.state = RESIDENT_USED; // to be cleaned, patched or not
	ok = ok &&
			tracee_read(&in->tracee, in->resident_at + offsetof(struct resident, header_at),
					&in->resident.header_at, sizeof in->resident.header_at);
	in->resident.fd = -1;
	in->is_attached = ok && patch_all(in, err);
	if (!in->is_attached) {
		bool is_clean;
		(void)resident_retire(in, &is_clean, NULL);
		return false;
	}
	count(in);
	return true;
}

bool injector_rescan(struct injector *in, struct err *err) {
	struct process_space now;
	if (!process_space_read(&now, in->pid, err)) {
		return false;
	}
	uint64_t sum = sum_of_modules(&now);
	bool has_any = now.mappings.n > 0;
	process_space_finish(&now);
	if (!has_any || sum == in->modules_sum || !in->is_attached) {
		return has_any || err_set(err, ERR_NOT_FOUND, "process %d has ended", (int)in->pid);
	}
	if (!plan_and_map(in, err)) {
		in->modules_sum = sum;
		return true; // the new ones stay without hooks
	}
	bool has_new = in->plan.islands.n > 0;
	for (size_t i = 0; i < in->plan.hooks.n; i++) {
		has_new |= !hook_of(in, &in->plan.hooks.items[i])->is_patched;
	}
	if (has_new) {
		(void)resident_write_head(in, err);
	}
	injector_resume(in);
	if (has_new) {
		(void)patch_all(in, err);
	}
	count(in);
	return true;
}

bool injector_detach(struct injector *in, struct err *err) {
	bool is_clean;
	if (!in->is_attached) {
		return true;
	}
	in->is_attached = false;
	// A program that has ended, or is another one by now, has nothing left to undo
	uint64_t magic;
	return resident_retire(in, &is_clean, err) ||
			!tracee_read(&in->tracee, in->resident_at, &magic, sizeof magic);
}

bool injector_repair(pid_t pid, bool *was_attached, struct err *err) {
	struct injector in = {.pid = pid};
	uint64_t clock;
	bool is_clean;
	in.tracee.memory = -1;
	*was_attached = false;
	bool ok = refuse_or_go_on(pid, &in.pid_inside, err) && tracee_open(&in.tracee, pid, err) &&
			look_at_process(&in, err) && resident_find(&in, err);
	if (ok && in.resident_at != 0 && in.resident.state == RESIDENT_ATTACHED) {
		*was_attached = true;
		ok = !resident_is_in_use(&in) ||
				err_set(err, ERR_UNSUPPORTED,
						"process %d is being recorded; end that heaptrack instead", (int)pid);
		ok = ok && find_vdso(&in, &clock, err) && resident_retire(&in, &is_clean, err);
	}
	forget_process(&in);
	tracee_close(&in.tracee);
	return ok;
}

struct injector_report injector_report(const struct injector *in) {
	return in->report;
}

void injector_describe(struct injector *in, struct buffer *out) {
	const struct found_function *last = NULL;
	for (size_t i = 0; i < in->plan.hooks.n; i++) {
		const struct planned *planned = &in->plan.hooks.items[i];
		const struct found_function *f = planned->function;
		if (!hook_of(in, planned)->is_patched) {
			continue;
		}
		if (!last || last->module_start != f->module_start) {
			buffer_printf(out, "%shooked in %s: ", last ? "\n" : "", f->module);
		} else {
			buffer_text(out, ", ");
		}
		buffer_text(out, f->name);
		last = f;
	}
	if (last) {
		buffer_text(out, "\n");
	}
	buffer_slice(out, buffer_view(&in->plan.refused));
}
