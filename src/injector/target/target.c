// SPDX-License-Identifier: MIT
/*
 * What the process is made of, read from outside: mappings, files, functions, the vdso. It may exec
 * or end whenever it runs, so each stop first asks whether it is still the same.
 */
#include "injector/target/target.h"

#include "machine.h"

uint64_t injector_sum_of_modules(const struct process_space *s) {
	uint64_t sum = 14695981039346656037ull;
	EACH_THAT(m, s->mappings, m->is_executable && m->inode != 0) {
		sum = (sum ^ m->start ^ m->inode << 20) * 1099511628211ull;
	}
	return sum;
}

void injector_forget(struct injector *in) {
	struct plan *plan = &in->plan;
	for (size_t i = 0; i < plan->islands.n; i++) {
		free(plan->islands.items[i].code);
	}
	CALL_FOR(vec_finish, plan, islands, hooks);
	buffer_finish(&plan->refused);
	*plan = (struct plan){0};
	vec_finish(&in->functions);
	modules_code_close(&in->modules);
	process_space_finish(&in->space);
}

bool injector_look(struct injector *in, struct err *err) {
	injector_forget(in);
	(void)process_exe(in->pid, &in->exe); // first: it must be no newer than what is read
	if (!process_space_read(&in->space, in->pid, err) ||
			!modules_code_open(&in->modules, &in->space, in->pid, err) ||
			!find_functions(&in->functions, &in->modules, err)) {
		return false;
	}
	in->modules_sum = injector_sum_of_modules(&in->space);
	return true;
}

bool injector_runs_what_we_saw(const struct injector *in) {
	struct process_exe exe;
	return in->exe.inode == 0 ||
			(process_exe(in->pid, &exe) && memcmp(&exe, &in->exe, sizeof exe) == 0);
}

bool injector_has_what_we_know(const struct injector *in) {
	uint64_t magic;
	uint8_t call[sizeof MACHINE_SYSTEM_CALL];
	if (in->resident_at != 0) {
		return tracee_read(&in->tracee, in->resident_at, &magic, sizeof magic) &&
				magic == RESIDENT_MAGIC;
	}
	return in->tracee.syscall_at == 0 ||
			(tracee_read(&in->tracee, in->tracee.syscall_at, call, sizeof MACHINE_SYSTEM_CALL) &&
					memcmp(call, MACHINE_SYSTEM_CALL, sizeof MACHINE_SYSTEM_CALL) == 0);
}

bool injector_say_it_is_another(const struct injector *in, struct err *err) {
	struct process_exe exe;
	return err_not_found(err,
			process_exe(in->pid, &exe)
					? "process %d has executed another program in the meantime (exec)"
					: "process %d has ended",
			(int)in->pid);
}

bool injector_find_vdso(struct injector *in, struct err *err) {
	EACH(m, in->space.mappings) {
		size_t n = m->end - m->start;
		FREED uint8_t *bytes = strcmp(m->name, "[vdso]") == 0 ? malloc(n) : NULL;
		struct elf_image image;
		if (!bytes || !tracee_read(&in->tracee, m->start, bytes, n)) {
			continue;
		}
		const uint8_t *call = memmem(bytes, n, MACHINE_SYSTEM_CALL, sizeof MACHINE_SYSTEM_CALL);
		in->tracee.syscall_at = call ? m->start + (uint64_t)(call - bytes) : 0;
		struct elf_symbols symbols = {0};
		struct elf_symbol symbol;
		if (elf_image_init(&image, slice_of(bytes, n))) {
			symbols = elf_symbols_of(&image, SHT_DYNSYM);
		}
		if (elf_symbols_find(&symbols, "__vdso_clock_gettime", &symbol)) {
			in->clock = m->start + symbol.address;
		}
	}
	if (!injector_runs_what_we_saw(in)) {
		return injector_say_it_is_another(in, err);
	}
	return in->tracee.syscall_at != 0 ||
			err_unsupported(err,
					"process %d has no vdso, which heaptrack needs to make system calls in it",
					(int)in->pid);
}

bool injector_has_allocator(const struct injector *in, struct err *err) {
	if (in->functions.n > 0) {
		return true;
	}
	if (!injector_runs_what_we_saw(in)) {
		return injector_say_it_is_another(in, err);
	}
	static const char
			go[] = "a Go program: its runtime does not allocate through malloc, so there is "
				   "nothing to record; use Go's own profiler (runtime/pprof)",
			strip[] = "statically linked and stripped, and its allocator is not a known version "
					  "of glibc's; run an unstripped build (strip --strip-debug keeps what is "
					  "needed)";
	bool is_go = in->modules.n == 1 && elf_is_go(&in->modules.items[0].image);
	if (is_go || (in->modules.n == 1 && find_is_stripped_static(&in->modules.items[0]))) {
		return err_not_found(err, "process %d (%.300s) is %s", (int)in->pid,
				in->modules.items[0].name, is_go ? go : strip);
	}
	SCOPED(buffer) names = {0};
	for (size_t i = 0; i < in->modules.n; i++) {
		buffer_printf(&names, "%s%s", i > 0 ? ", " : "", in->modules.items[i].name);
	}
	buffer_u8(&names, 0);
	return err_not_found(err,
			"no allocation functions found in process %d (%.300s); if the program is stripped, "
			"run a build with symbols",
			(int)in->pid, names.failed ? "" : (const char *)names.data);
}

// ---- stops and errands, with the time taken

bool injector_stop(struct injector *in, bool all, struct err *err) {
	in->stopped_ns = clock_now_ns();
	in->has_stopped_all = all;
	if (!tracee_stop(&in->tracee, all, err)) {
		return false;
	}
	if (injector_has_what_we_know(in) && injector_runs_what_we_saw(in)) {
		in->report.n_threads = all ? (uint32_t)in->tracee.threads.n : in->report.n_threads;
		return true;
	}
	in->is_attached = false;
	tracee_resume(&in->tracee);
	return injector_say_it_is_another(in, err);
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

bool injector_send(struct injector *in, struct errand *e, struct err *err) {
	if (!injector_stop(in, false, err)) {
		return false;
	}
	bool ok = tracee_errand(&in->tracee, NULL, e, err);
	injector_resume(in);
	return ok;
}
