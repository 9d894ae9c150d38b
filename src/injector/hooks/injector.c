// SPDX-License-Identifier: MIT
/* The steps of injector.h. Each leaves the process as it was if it fails. */
#include "injector/hooks/patch.h"
#include "injector/resident/resident.h"

static void count(struct injector *in) {
	const struct found_function *last = NULL;
	const uint32_t needed = 1u << RESIDENT_MAPS | 1u << RESIDENT_UNMAPS;
	uint32_t patched = 0;
	in->report.n_functions = in->report.n_modules = 0;
	EACH(planned, in->plan.hooks) {
		bool is_patched = injector_hook_of(in, planned)->is_patched;
		if (found_is_beside(planned->function)) {
			patched |= is_patched ? 1u << planned->function->what : 0;
			continue;
		}
		in->report.n_functions += is_patched;
		in->report.n_modules += !last || last->module_start != planned->function->module_start;
		last = planned->function;
	}
	in->report.maps_are_hooked = (patched & needed) == needed && !in->plan.has_refused_maps;
}

void injector_let_go(struct injector *in) {
	tracee_let_go(&in->tracee);
}

/** Check that no system call of a recording can harm a process in a sandbox. */
static bool ask_filters(struct injector *in, struct err *err) {
	if (!injector_stop(in, true, err)) {
		return false;
	}
	bool ok = sandbox_lets_us(&in->tracee, in->token[0], err);
	injector_resume(in);
	return ok;
}

enum { KILLED_LOOKS = 20, LOOK_NS = 50000000 }; // a killed helper takes a moment to be gone

static bool say_recorded(const struct injector *in, struct err *err) {
	return err_unsupported(err,
			"process %d is already being recorded by another heaptrack; stop that one first",
			(int)in->pid);
}

/** One heaptrack at a time: the kernel undoes the lock when its helper ends, in whatever way. */
static bool claim(const struct injector *in, struct err *err) {
	struct flock all = {.l_type = F_WRLCK};
	unsigned n = 0;
	while (fcntl(in->tracee.memory, F_OFD_SETLK, &all) != 0 && n++ < KILLED_LOOKS) {
		clock_sleep_ns(LOOK_NS);
	}
	return n <= KILLED_LOOKS || say_recorded(in, err);
}

/** `claims`: unless it only looks, or undoes what another has left. */
static bool open_tracee(struct injector *in, enum injector_start start, bool claims,
		struct err *err) {
	bool is_running = start == INJECTOR_RUNNING;
	// A starting process cannot be examined before its exec is done
	bool ok = is_running ||
			tracee_open_at_start(&in->tracee, in->pid, start == INJECTOR_AT_LOAD, err);
	return ok && injector_may_attach(in, is_running, err) &&
			(!is_running || tracee_open(&in->tracee, in->pid, err)) &&
			(!is_running || !claims || claim(in, err)) &&
			(!in->has_filter || in->only_looks || ask_filters(in, err));
}

/** Reuse the resident of an earlier attach, or clean it up and leave it. */
static bool deal_with_resident(struct injector *in, struct err *err) {
	const struct resident *r = &in->resident;
	bool is_clean = false, is_kept = in->resident_at != 0 && resident_is_kept(in);
	const bool may_wait = !in->only_looks && !in->resident.token[0]; // of one process alone
	if (in->resident_at != 0 && r->n_forks != 0 && r->pid != in->pid_inside && in->token[0] &&
			r->state == RESIDENT_ATTACHED && strcmp(r->token, in->token) == 0) {
		return err_set(err, ERR_LATER, "process %d is about to be recorded", (int)in->pid);
	}
	for (unsigned n = 0; is_kept && may_wait && n < KILLED_LOOKS; n++) {
		clock_sleep_ns(LOOK_NS);
		is_kept = resident_is_kept(in);
	}
	if (!is_kept && (in->resident_at == 0 || resident_is_free(in))) {
		return true;
	}
	if (is_kept || (in->resident.state == RESIDENT_ATTACHED && resident_is_in_use(in))) {
		return say_recorded(in, err);
	}
	if (in->only_looks) {
		return true;
	}
	if (!injector_find_vdso(in, err) || !resident_retire(in, &is_clean, err)) {
		return false;
	}
	bool is_ours = memcmp(in->resident.image_id, in->blob.id, sizeof in->blob.id) == 0;
	in->resident_at = is_clean && is_ours ? in->resident_at : 0;
	return true;
}

/** The loader has not mapped any of its libraries yet. */
static bool has_only_its_loader(const struct injector *in) {
	return in->modules.n <= 2 &&
			ANY(i, in->modules.n,
					elf_segment_of(&in->modules.items[i].image, PT_INTERP).type == PT_INTERP);
}

/** Look; a process that is still loading gets some time to have its functions. */
static bool look_when_loaded(struct injector *in, enum injector_start start, struct err *err) {
	enum { MOMENT_MS = 20, LOADER_MS = 2000, PAUSE_MS = 2 }; // a loader may wait for a busy machine
	const struct process_exe opened = in->exe;               // the program that the memory is of
	for (int ms = 0; injector_look(in, err); ms += PAUSE_MS) {
		if (start == INJECTOR_RUNNING && memcmp(&opened, &in->exe, sizeof opened) != 0) {
			return injector_say_it_is_another(in, err);
		}
		bool is_loaded = in->exe.stack != 0 && in->functions.n > 0;
		if (start != INJECTOR_RUNNING || is_loaded ||
				ms >= (has_only_its_loader(in) ? LOADER_MS : MOMENT_MS)) {
			return true;
		}
		clock_sleep_ns(PAUSE_MS * 1000000);
	}
	return false;
}

/** Is it the helper of a killed heaptrack, which undoes its work? It blocks all signals. */
static bool is_orphan(pid_t pid) {
	char text[4096];
	struct process_usage u;
	return pid != getpid() && process_thread_name(pid, pid, text, sizeof text) &&
			strcmp(text, "heaptrack") == 0 && process_usage(pid, &u) && u.state != 'Z' &&
			process_read(pid, "status", text, sizeof text) > 0 &&
			(process_status_number(text, "SigBlk", 16) >> (SIGSEGV - 1) & 1) != 0 &&
			(!process_thread_name(u.parent, u.parent, text, sizeof text) ||
					strcmp(text, "heaptrack") != 0);
}

/** It may be at work on any process, and has written nowhere yet on which. */
static void await_orphans(void) {
	enum { PIDS = 8192, LOOKS = 100, LOOK_MS = 50 };
	static pid_t pids[PIDS];
	static bool is_done; // what comes later is told by residents
	for (unsigned i = 0; i < LOOKS && !is_done; i++) {
		const size_t n = process_all(0, pids, PIDS);
		is_done = !ANY(k, n, is_orphan(pids[k]));
		clock_sleep_ns(is_done ? 0 : LOOK_MS * 1000000ull);
	}
	is_done = true;
}

static struct injector *create(pid_t pid, enum injector_start start, const char *recorder,
		const char *token, bool only_looks, struct err *err) {
	struct injector *in = calloc(1, sizeof *in);
	if (!in) {
		return err_memory_null(err);
	}
	if (start == INJECTOR_RUNNING && !only_looks) {
		await_orphans();
	}
	in->pid = pid;
	in->only_looks = only_looks;
	(void)format_text(in->token, sizeof in->token, "%s", token);
	in->tracee.memory = -1;
	(void)process_exe(pid, &in->exe);
	if (!open_tracee(in, start, !only_looks, err) || !blob_open(&in->blob, recorder, err) ||
			!look_when_loaded(in, start, err) || !injector_has_allocator(in, err) ||
			(!only_looks && !resident_await_errands(in, err)) || !resident_find(in, err) ||
			!deal_with_resident(in, err)) {
		injector_destroy(in);
		return NULL;
	}
	return in;
}

struct injector *injector_create(pid_t pid, enum injector_start start, const char *recorder,
		const char *token, struct err *err) {
	return create(pid, start, recorder, token, false, err);
}

bool injector_check(pid_t pid, const char *recorder, uint64_t max_pause_ns,
		struct injector_check *out, struct err *err) {
	struct injector *in = create(pid, INJECTOR_RUNNING, recorder, "", true, err);
	bool ok = in && injector_find_vdso(in, err) && plan_make(in, err);
	if (ok) {
		for (size_t i = 0; i < in->plan.hooks.n; i++) {
			injector_hook_of(in, &in->plan.hooks.items[i])->is_patched = 1; // only in our copy
		}
		count(in);
		in->max_pause_ns = max_pause_ns;
		(void)patch_may_copy_memory(in);
		*out = (struct injector_check){in->report, in->has_filter, {0}};
		injector_describe(in, &out->hooked);
	}
	injector_destroy(in);
	return ok;
}

void injector_destroy(struct injector *in) {
	if (!in) {
		return;
	}
	injector_forget(in);
	tracee_close(&in->tracee);
	blob_close(&in->blob);
	buffer_finish(&in->frames);
	free(in);
}

/** Say why a step failed, if the program was replaced or ended. Always false. */
static bool explain(const struct injector *in, struct err *err) {
	return !injector_runs_what_we_saw(in) && injector_say_it_is_another(in, err);
}

bool injector_memory(struct injector *in, const char *path, int *fd, struct err *err) {
	return (injector_find_vdso(in, err) && resident_make_memory(in, in->clock, path, fd, err)) ||
			explain(in, err);
}

bool injector_attach(struct injector *in, uint64_t max_pause_ns, struct err *err) {
	int64_t is_open = 0;
	in->max_pause_ns = max_pause_ns;
	uint64_t begin = in->resident.at + RESIDENT_IMAGE_AT + in->blob.begin_at;
	in->resident.state = RESIDENT_USED; // to be cleaned up from here on, patched or not
	bool ok = resident_write_head(in, err) && patch_prepare(in, begin, &is_open, err);
	if (ok && is_open != 1) {
		ok = err_failed(err,
				"the recorder could not %smap its memory in process %d; is its address space "
				"limited (ulimit -v)%s?",
				in->token[0] ? "reach heaptrack or " : "", (int)in->pid,
				in->token[0] ? ", or its network another one" : "");
	}
	in->resident.fd = -1;
	in->is_attached = ok && patch_all(in, err);
	if (!in->is_attached) {
		bool is_clean;
		(void)resident_retire(in, &is_clean, NULL);
		return explain(in, err);
	}
	count(in);
	return true;
}

void injector_drop_snapshot(struct injector *in) {
	if (in->tracee.copy.pid != 0) {
		snapshot_end(&in->tracee);
		bool is_there = injector_stop(in, false, NULL);
		snapshot_drop(&in->tracee);
		if (is_there) {
			injector_resume(in);
		}
	}
}

void injector_rescan(struct injector *in) {
	SCOPED(process_space) now = {0};
	in->is_attached = in->is_attached && injector_has_what_we_know(in);
	if (!in->is_attached || !process_space_read(&now, in->pid, NULL)) {
		return;
	}
	uint64_t sum = injector_sum_of_modules(&now);
	if (sum == in->modules_sum) {
		return;
	}
	if (!patch_prepare(in, 0, NULL, NULL)) {
		in->modules_sum = sum;
		return; // the new modules stay without hooks
	}
	bool has_new = in->plan.islands.n > 0 ||
			FIND_IN(planned, in->plan.hooks, !injector_hook_of(in, planned)->is_patched);
	if (has_new) { // maybe in a second C library, whose code the recorder must know first
		struct resident_range *caches = in->resident.thread_caches;
		uint64_t at = in->resident.at + RESIDENT_IMAGE_AT + in->blob.thread_caches_at;
		thread_cache_find(&in->modules, caches);
		(void)tracee_write(&in->tracee, at, caches, sizeof in->resident.thread_caches, NULL);
		(void)patch_all(in, NULL);
	}
	count(in);
}

bool injector_detach(struct injector *in, struct err *err) {
	bool is_clean;
	if (!in->is_attached) {
		return true;
	}
	in->is_attached = false;
	// A program that ended or was replaced has nothing to undo
	return resident_retire(in, &is_clean, err) || !injector_has_what_we_know(in);
}

bool injector_repair(pid_t pid, const char *token, bool *was_attached, struct err *err) {
	struct injector in = {.pid = pid};
	bool is_clean;
	in.tracee.memory = -1;
	*was_attached = false;
	bool ok = open_tracee(&in, INJECTOR_RUNNING, false, err) && injector_look(&in, err) &&
			resident_await_errands(&in, err) && resident_find(&in, err);
	if (ok && in.resident_at != 0 && in.resident.state == RESIDENT_ATTACHED &&
			(!token || strcmp(in.resident.token, token) == 0)) {
		*was_attached = true;
		ok = token || (!resident_is_kept(&in) && !resident_is_in_use(&in)) ||
				err_unsupported(err, "process %d is being recorded; stop that heaptrack instead",
						(int)pid);
		ok = ok && injector_find_vdso(&in, err) && resident_retire(&in, &is_clean, err);
	}
	injector_forget(&in);
	tracee_close(&in.tracee);
	return ok;
}

struct injector_report injector_report(const struct injector *in) {
	struct injector_report report = in->report;
	report.pid_inside = in->pid_inside;
	report.code_at = in->resident.text_at;
	report.code_bytes = in->resident.text_bytes;
	return report;
}

void injector_describe(struct injector *in, struct buffer *out) {
	const struct found_function *last = NULL;
	EACH(planned, in->plan.hooks) {
		const struct found_function *f = planned->function;
		if (!injector_hook_of(in, planned)->is_patched || found_is_beside(f)) {
			continue;
		}
		if (!last || last->module_start != f->module_start) {
			buffer_printf(out, "%s%s\t", last ? "\t\n" : "", f->module);
		} else {
			buffer_text(out, ", ");
		}
		buffer_text(out, f->name);
		last = f;
	}
	if (last) {
		buffer_text(out, "\t\n");
	}
	buffer_slice(out, buffer_view(&in->plan.refused));
}
