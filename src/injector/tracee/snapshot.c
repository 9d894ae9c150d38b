// SPDX-License-Identifier: MIT
/*
 * Makes a copy of a process that never runs. The thread that makes it returns once the kernel has
 * copied the page tables, and others that write meanwhile wait for that. So the time is first
 * estimated by a copy of some pages of ours, and other threads are released when it is up.
 */
#include "injector/tracee/tracee.h"

static const uint64_t BIRTH_PATIENCE_NS = 2000000000;
static const uint64_t PATIENCE_NS = 600000000000; // only one thread has to wait

// ---- how long will it take?

enum {
	PAGE = 4096,
	HUGE_PAGES = 512,        // pages that are copied as one
	PLENTY_NS = 250,         // for a page, on any machine
	LEAST_NS = 10,           // likewise
	SAMPLE_BYTES = 16 << 20, // copied to see
};

/** How long a fork of heaptrack itself takes, without the child's end. */
static uint64_t copy_of_ours_ns(void) {
	uint64_t best_ns = UINT64_MAX;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t start_ns = clock_now_ns();
		pid_t pid = fork();
		if (pid == 0) {
			_exit(0);
		}
		uint64_t took_ns = clock_now_ns() - start_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
		(void)(pid > 0 && waitpid(pid, NULL, 0));
	}
	return best_ns;
}

/** How long a copy of `n` pages takes, by that of some of our own. */
static uint64_t copy_of_pages_ns(uint64_t n) {
	char *sample = mmap(NULL, SAMPLE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (sample == MAP_FAILED) {
		return 0;
	}
	uint64_t without_ns = copy_of_ours_ns();
	(void)madvise(sample, SAMPLE_BYTES, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < SAMPLE_BYTES; i += PAGE) {
		((volatile char *)sample)[i] = 1;
	}
	uint64_t with_ns = copy_of_ours_ns();
	(void)munmap(sample, SAMPLE_BYTES);
	uint64_t sample_ns = with_ns < without_ns ? 0 : with_ns - without_ns;
	uint64_t takes_ns = sample_ns * n / (SAMPLE_BYTES / PAGE);
	return takes_ns < n * LEAST_NS ? n * LEAST_NS : takes_ns; // on a busy machine, by chance
}

bool snapshot_fits(pid_t pid, uint64_t within_ns, uint64_t *takes_ns) {
	struct process_memory m;
	*takes_ns = process_memory(pid, &m) ? m.rss_anon_bytes / PAGE * PLENTY_NS : 0;
	if (*takes_ns == 0 || *takes_ns < within_ns) {
		return true;
	}
	char text[4096] = ""; // reading this takes as long as a copy, but stops nobody
	(void)process_read(pid, "smaps_rollup", text, sizeof text);
	uint64_t huge_bytes = process_status_number(text, "AnonHugePages", 10) * 1024;
	huge_bytes = huge_bytes < m.rss_anon_bytes ? huge_bytes : m.rss_anon_bytes;
	uint64_t n = (m.rss_anon_bytes - huge_bytes) / PAGE + huge_bytes / PAGE / HUGE_PAGES;
	*takes_ns = n * PLENTY_NS;
	if (*takes_ns >= within_ns) {
		*takes_ns = copy_of_pages_ns(n) / 4 * 5;
	}
	return *takes_ns <= within_ns;
}

// ---- the copy

/** The one traced process that is no thread of this one. It stops before its first instruction. */
static pid_t wait_for_birth(const struct tracee *t) {
	uint64_t until_ns = clock_now_ns() + BIRTH_PATIENCE_NS;
	while (clock_now_ns() < until_ns) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL | WNOHANG);
		if (pid > 0 && WIFSTOPPED(status) && !tracee_holds(t, pid)) {
			return pid;
		}
		if (pid <= 0) {
			clock_sleep_ns(20000);
		}
	}
	return 0;
}

/**
 * Wait until there is a copy, or none because the kernel refuses: the thread stops at the birth,
 * waits at its errand's end, or is gone. Memory is not accessed: that would wait for the copy.
 */
static bool is_made(const struct tracee_thread *thread, uint64_t until_ns) {
	for (unsigned n = 0;; n++) {
		siginfo_t info = {0};
		char call[256];
		if (waitid(P_PID, (id_t)thread->tid, &info,
					WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 ||
				info.si_pid != 0 ||
				(task_read(thread, "syscall", call, sizeof call) &&
						strtol(call, NULL, 10) == SYS_ppoll)) {
			return true;
		}
		if (clock_now_ns() > until_ns) {
			return false;
		}
		tracee_pause(n);
	}
}

enum injector_no_copy snapshot_take(struct tracee *t, uint64_t within_ns, bool lets_go) {
	struct snapshot *s = &t->copy;
	pid_t tid = t->threads.items[0].tid;
	uint64_t start_ns = clock_now_ns();
	struct errand e = {0};
	(void)errand_add(&e, SYS_clone, CLONE_FILES | CLONE_FS, 0, 0); // and no signal at its end
	*s = (struct snapshot){0};
	if (ptrace(PTRACE_SETOPTIONS, tid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE) != 0) {
		return INJECTOR_COPY_FAILED;
	}
	bool is_sent = tracee_errand_begin(t, NULL, &e, NULL);
	bool is_late = is_sent && !is_made(&t->threads.items[0], start_ns + within_ns);
	s->cost_ns = clock_now_ns() - start_ns;
	if (lets_go || is_late) {
		tracee_resume_from(t, 1);
	}
	if (is_late) {
		(void)is_made(&t->threads.items[0], start_ns + PATIENCE_NS);
	}
	bool ok = is_sent && tracee_errand_end(t, &e, NULL) && e.calls[0].result > 0;
	(void)ptrace(PTRACE_SETOPTIONS, tid, 0, PTRACE_O_TRACESYSGOOD);
	s->pid = ok ? wait_for_birth(t) : 0;
	if (s->pid == 0) {
		return INJECTOR_COPY_FAILED;
	}
	s->pid_inside = (pid_t)e.calls[0].result;
	(void)ptrace(PTRACE_SETOPTIONS, s->pid, 0, PTRACE_O_EXITKILL);
	if (is_late) {
		snapshot_drop(t);
		return INJECTOR_COPY_LATE;
	}
	return INJECTOR_COPIED;
}

void snapshot_end(const struct tracee *t) {
	siginfo_t info;
	if (t->copy.pid != 0) {
		(void)kill(t->copy.pid, SIGKILL);
		(void)waitid(P_PID, (id_t)t->copy.pid, &info, WEXITED | WNOWAIT | __WALL);
	}
}

void snapshot_drop(struct tracee *t) {
	struct snapshot *s = &t->copy;
	int status;
	if (s->pid == 0) {
		return;
	}
	snapshot_end(t);
	(void)waitpid(s->pid, &status, __WALL);
	if (t->threads.n > 0) {
		struct errand e = {0};
		(void)errand_add(&e, SYS_wait4, (uint64_t)s->pid_inside, 0, __WALL);
		(void)tracee_errand(t, NULL, &e, NULL);
	}
	s->pid = 0;
}
