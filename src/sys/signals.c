// SPDX-License-Identifier: MIT
/*
 * Saves and restores dispositions, and reads signals from a descriptor. A witness, a child that
 * does nothing else, counts those sent to the group.
 */
#include "sys/signals.h"

#include "sys/sys.h"

#include <sys/signalfd.h>

void signals_save(struct signals_start *out) {
	(void)sigemptyset(&out->ignored);
	for (int s = 1; s < NSIG; s++) {
		struct sigaction action;
		if (sigaction(s, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
			(void)sigaddset(&out->ignored, s);
		}
	}
	(void)sigprocmask(SIG_SETMASK, NULL, &out->mask);
}

void signals_restore(const struct signals_start *start) {
	for (int s = 1; s < NSIG; s++) {
		bool is_ignored = sigismember(&start->ignored, s) == 1;
		(void)signal(s, is_ignored ? SIG_IGN : SIG_DFL);
	}
	(void)sigprocmask(SIG_SETMASK, &start->mask, NULL);
}

int signals_open(struct err *err) {
	static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD,
			SIGCONT};
	static const int ignored[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ};
	sigset_t set;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < N_OF(taken); i++) {
		(void)sigaddset(&set, taken[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	// Blocked first: ignored ones would be dropped; with SIGCHLD ignored no child can be awaited
	for (size_t i = 0; i < N_OF(taken); i++) {
		(void)signal(taken[i], SIG_DFL);
	}
	for (size_t i = 0; i < N_OF(ignored); i++) {
		(void)signal(ignored[i], SIG_IGN);
	}
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0) {
		(void)err_system(err, errno, "signalfd");
	}
	return fd;
}

bool signals_next(int fd, struct signals_arrived *out) {
	struct signalfd_siginfo info;
	if (read(fd, &info, sizeof info) != sizeof info) {
		return false;
	}
	out->signal = (int)info.ssi_signo;
	out->is_sent = info.ssi_code <= 0; // SI_USER, SI_QUEUE, SI_TKILL; a terminal's is SI_KERNEL
	out->sender = (int)info.ssi_pid;
	return true;
}

// ---- the witness

#define WITNESS_NAME "witness"

enum {
	DELIVERY_NS = 5000000, // a group's members get a signal one after another, within this
	GUARD_MS = 50,
	GUARD_LOOKS = 20,
	COUNTING_NS = 1000000, // a pending one is counted as soon as the witness runs:
	COUNTING_TRIES = 300,  // check this often
};

// ---- in the witness

// So that `pidof heaptrack` and `ps` do not show the witness as heaptrack
static void take_name(void) {
	char *name = program_invocation_name; // argv[0]
	size_t n = strlen(name);
	(void)prctl(PR_SET_NAME, WITNESS_NAME);
	memset(name, 0, n);
	(void)snprintf(name, n + 1, WITNESS_NAME);
}

// Is the program stopped? If not, continue heaptrack, too
static bool guard(pid_t program, pid_t heaptrack) {
	bool is_stopped = process_is_stopped(program);
	if (!is_stopped && process_is_stopped(heaptrack)) {
		(void)kill(heaptrack, SIGCONT);
	}
	return is_stopped;
}

static void witness(int life_fd, pid_t heaptrack, _Atomic uint32_t *counts) {
	sigset_t all;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	take_name();
	(void)dup2(life_fd, 0);
	(void)close_range(1, ~0u, 0);
	int signals = signalfd(-1, &all, SFD_NONBLOCK);
	struct pollfd fds[] = {{.fd = 0, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	pid_t program = 0;    // stopped, with heaptrack
	unsigned n_looks = 0; // after it continued: heaptrack may still be about to stop
	while (signals >= 0 && poll(fds, 2, program ? GUARD_MS : -1) >= 0) {
		if (fds[0].revents && read(0, &program, sizeof program) != (ssize_t)sizeof program) {
			break; // heaptrack has ended
		}
		n_looks = fds[0].revents ? GUARD_LOOKS : n_looks;
		n_looks = program && guard(program, heaptrack) ? GUARD_LOOKS : n_looks;
		program = program && n_looks-- > 0 ? program : 0;
		struct signals_arrived arrived;
		while (signals_next(signals, &arrived)) {
			if (arrived.is_sent && arrived.signal < WITNESS_SIGNALS) {
				atomic_fetch_add(&counts[arrived.signal], 1);
			}
		}
	}
	_exit(0);
}

// ---- in heaptrack

bool witness_start(struct witness *w) {
	*w = (struct witness){.life_fd = -1};
	int life[2];
	w->counts = mmap(NULL, WITNESS_SIGNALS * sizeof *w->counts, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->counts == MAP_FAILED) {
		w->counts = NULL;
		return false;
	}
	if (pipe2(life, O_CLOEXEC) != 0) {
		return false;
	}
	pid_t *pid = (pid_t *)(void *)
						 w->counts; // entry 0 belongs to no signal: used for the grandchild's pid
	pid_t heaptrack = getpid(), between = fork();
	if (between == 0) {
		(void)close(life[1]);
		pid_t last = fork();
		if (last == 0) {
			witness(life[0], heaptrack, w->counts);
		}
		*pid = last > 0 ? last : 0;
		_exit(0);
	}
	(void)close(life[0]);
	w->life_fd = life[1];
	while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR) {}
	w->pid = *pid;
	return w->pid > 0;
}

static bool is_pending(const struct witness *w, int signal) {
	char text[4096] = "";
	(void)process_read(w->pid, "status", text, sizeof text);
	return (process_status_number(text, "ShdPnd", 16) >> (signal - 1) & 1) != 0;
}

bool witness_saw(struct witness *w, int signal) {
	if (w->pid == 0 || signal <= 0 || signal >= WITNESS_SIGNALS) {
		return false;
	}
	clock_sleep_ns(DELIVERY_NS);
	for (int i = 0; i < COUNTING_TRIES && is_pending(w, signal); i++) {
		clock_sleep_ns(COUNTING_NS);
	}
	uint32_t count = atomic_load(&w->counts[signal]);
	bool is_new = count != w->known[signal];
	w->known[signal] = count;
	return is_new;
}

void witness_guard(struct witness *w, pid_t program) {
	if (w->pid != 0) {
		(void)!write(w->life_fd, &program, sizeof program);
	}
}

void witness_stop(struct witness *w) {
	if (w->counts) {
		(void)close(w->life_fd);
		(void)munmap((void *)w->counts, WITNESS_SIGNALS * sizeof *w->counts);
		w->counts = NULL;
		w->pid = 0;
	}
}
