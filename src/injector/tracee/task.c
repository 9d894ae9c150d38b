// SPDX-License-Identifier: MIT
/*
 * Reads a process's memory and its threads' states, and waits for threads to stop. Memory is read
 * from /proc/PID/mem, which has also what the process itself cannot write. Waiting is polling:
 * waitpid has no timeout, and a signal to interrupt it could be lost.
 */
#include "injector/tracee/tracee.h"
#include "machine.h"

// ---- memory

bool tracee_open(struct tracee *t, pid_t pid, struct err *err) {
	*t = (struct tracee){.pid = pid};
	t->memory = open(PROCESS_PATH(pid, "mem"), O_RDWR | O_CLOEXEC);
	return t->memory >= 0 ||
			err_system(err, errno, "cannot open the memory of process %d", (int)pid);
}

bool tracee_read(const struct tracee *t, uint64_t at, void *out, size_t bytes) {
	return pread(t->memory, out, bytes, (off_t)at) == (ssize_t)bytes;
}

bool tracee_write(const struct tracee *t, uint64_t at, const void *from, size_t bytes,
		struct err *err) {
	ssize_t n = pwrite(t->memory, from, bytes, (off_t)at);
	return n == (ssize_t)bytes ||
			err_system(err, n < 0 ? errno : EIO, "cannot write to the memory of process %d",
					(int)t->pid);
}

// ---- a thread

bool task_read(const struct tracee_thread *thread, const char *name, char *out, size_t size) {
	return process_read(thread->pid, FORMAT(32, "task/%d/%s", (int)thread->tid, name), out, size) >
			0;
}

bool task_waits_for_vfork(const struct tracee *t, const struct tracee_thread *thread) {
	char text[256];
	unsigned long long number, a;
	uint64_t flags = 0;
	if (!task_read(thread, "syscall", text, sizeof text) ||
			sscanf(text, "%llu %llx", &number, &a) != 2) {
		return false;
	}
	switch (number) {
	case SYS_clone: return (a & CLONE_VFORK) != 0;
	case SYS_clone3: return tracee_read(t, a, &flags, sizeof flags) && (flags & CLONE_VFORK) != 0;
	default: return MACHINE_VFORK >= 0 && number == (unsigned long long)MACHINE_VFORK;
	}
}

char task_state(const struct tracee_thread *thread) {
	char status[2048] = "";
	(void)task_read(thread, "status", status, sizeof status);
	const char *state = process_line(status, "State", ':');
	return state ? *state : '?';
}

bool task_complain(const struct tracee_thread *thread, struct err *err) {
	char where[128] = "";
	char state = task_state(thread);
	if (state == '?') {
		return err_not_found(err, "thread %d has ended", (int)thread->tid);
	}
	(void)task_read(thread, "wchan", where, sizeof where);
	return err_failed(err,
			"thread %d did not stop within a second (state %c%s%s); nothing was changed",
			(int)thread->tid, state, where[0] ? ", in " : "", where);
}

bool task_has_signal(const struct tracee_thread *thread) {
	const uint64_t unnoticed = SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGURG) |
			SIGNAL_BIT(SIGWINCH);
	char text[4096];
	if (!task_read(thread, "status", text, sizeof text)) {
		return true;
	}
	uint64_t pending = process_status_number(text, "SigPnd", 16) |
			process_status_number(text, "ShdPnd", 16);
	uint64_t unwanted = process_status_number(text, "SigBlk", 16) |
			process_status_number(text, "SigIgn", 16);
	return (pending & ~unwanted & (process_status_number(text, "SigCgt", 16) | ~unnoticed)) != 0;
}

void tracee_pause(unsigned n) {
	if (n > 50) {
		clock_sleep_ns(20000);
	} else {
		(void)sched_yield();
	}
}

pid_t tracee_wait_now(pid_t tid, int *status) {
	int signal;
	siginfo_t info = {0};
	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) {
		return -1;
	}
	*status = info.si_status << 8 | 0x7f;
	bool is_signal = info.si_code == CLD_TRAPPED && tracee_stop_kind(*status, &signal) == 0;
	return is_signal || info.si_pid == 0 ? info.si_pid : waitpid(tid, status, __WALL | WNOHANG);
}

static enum tracee_wait wait_for(pid_t tid, int *status, uint64_t until_ns) {
	for (unsigned n = 0;; n++) {
		pid_t got = tracee_wait_now(tid, status);
		if (got < 0 || (got > 0 && (WIFEXITED(*status) || WIFSIGNALED(*status)))) {
			return WAIT_GONE;
		}
		if (got > 0) {
			return WAIT_STOPPED;
		}
		if (clock_now_ns() > until_ns) {
			return WAIT_LATE;
		}
		tracee_pause(n);
	}
}

int tracee_stop_kind(int status, int *signal) {
	int event = (int)((unsigned)status >> 16);
	bool is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
	*signal = event || is_call ? 0 : WSTOPSIG(status);
	bool is_fault = *signal > 0 && *signal < 32 && (TRACEE_FAULTS & SIGNAL_BIT(*signal)) != 0;
	return is_call ? TRACEE_CALL : is_fault ? TRACEE_FAULT : event;
}

enum tracee_wait tracee_run_to(pid_t tid, int kind, unsigned request, uint64_t until_ns,
		int *fault) {
	for (;;) {
		int status, signal;
		enum tracee_wait wait = wait_for(tid, &status, until_ns);
		int found = wait == WAIT_STOPPED ? tracee_stop_kind(status, &signal) : kind;
		if (found == kind) {
			return wait;
		}
		if (fault && found == TRACEE_FAULT) {
			*fault = signal;
			return wait;
		}
		(void)ptrace(request, tid, 0, (long)signal);
	}
}
