// SPDX-License-Identifier: MIT
/* One poll over signals, the socket for the segment, the program's pidfd and the control socket. */
#include "collector/watch/watch.h"

#include "sys/terminal.h"

#include <sys/eventfd.h>

enum {
	VISITORS = 64,
	BEAT_MS = 1250, // below 2 s, even if the main loop's wake-up, once a second, comes in between
	ECHO_NS = 20000000,
	GUARDIAN_ECHO_NS = 1000000000, // it has a low priority
	AWAIT_NS = 10000000,
};

/** The last signal of a number that was taken. */
struct last_signal {
	bool is_guardians, is_shared; // forwarded by the guardian; sent to the program, too
	uint64_t taken_ns;
};

struct watch {
	struct watch_params params;
	pthread_t thread;
	int stop_fd;
	struct pollfd fds[5];
	bool program_is_stopped;       // only used by the watching thread
	struct last_signal last[NSIG]; // the same
	struct watch_end end;          // complete once has_ended is set
	_Atomic bool has_ended;        // release; pairs with the acquire in watch_has_ended
	_Atomic bool is_hurried;
	_Atomic pid_t visitors[VISITORS]; // 0: free. The watching thread adds, the recording's takes
};

static bool is_alive(const struct watch *w) {
	return !atomic_load_explicit(&w->has_ended, memory_order_relaxed);
}

// ---- children

static void tell_end(struct watch *w) {
	(void)process_thread_name(w->params.program, w->params.program, w->end.name,
			sizeof w->end.name);
	w->end.time_ns = clock_now_ns();
	atomic_store_explicit(&w->has_ended, true, memory_order_release);
	atomic_store_explicit(w->params.bell, 1, memory_order_seq_cst);
	futex_wake(w->params.bell, 1);
}

/** 0: no limit, or unknown. */
static uint64_t limit_of(pid_t pid, int which) {
	struct rlimit limit;
	return prlimit(pid, (enum __rlimit_resource)which, NULL, &limit) != 0 ||
					limit.rlim_cur == RLIM_INFINITY
			? 0
			: limit.rlim_cur;
}

static void note_end(struct watch *w, const siginfo_t *info) {
	struct watch_end *end = &w->end;
	end->is_signaled = info->si_code != CLD_EXITED;
	end->status = info->si_status;
	const pid_t pid = w->params.program;
	const uint64_t space = limit_of(pid, RLIMIT_AS), data = limit_of(pid, RLIMIT_DATA);
	end->limits = (struct watch_limits){
			.cpu_s = limit_of(pid, RLIMIT_CPU),
			.file_bytes = limit_of(pid, RLIMIT_FSIZE),
			.memory_bytes = space == 0 || (data > 0 && data < space) ? data : space,
	};
	(void)process_usage(w->params.program, &end->usage); // a zombie still reports its CPU times
	siginfo_t again;
	struct rusage rusage;
	if (end->usage.children_faults == 0 &&
			syscall(SYS_waitid, P_PID, w->params.program, &again, WEXITED | WNOHANG | WNOWAIT,
					&rusage) == 0) {
		end->max_rss_bytes = (uint64_t)rusage.ru_maxrss << 10;
	}
	tell_end(w);
}

// Stop as well, so that the shell sees a stopped job; but only if it can be continued: a SIGSTOP to
// a program in the background stops only that
static void stop_with_program(struct watch *w, int signal) {
	w->program_is_stopped = true;
	bool by_terminal = signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
	if (terminal_controls_us(!by_terminal)) {
		witness_guard(w->params.witness, w->params.program);
		(void)kill(getpid(), SIGSTOP); // stops all threads, but not necessarily before kill returns
	}
}

static void reap(struct watch *w) {
	for (;;) {
		siginfo_t info = {0};
		if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) != 0 ||
				info.si_pid == 0) {
			return;
		}
		bool is_program = info.si_pid == w->params.program && is_alive(w);
		bool is_end = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
				info.si_code == CLD_DUMPED;
		if (is_program && is_end) {
			note_end(w, &info); // before reaping frees the pid for reuse
		}
		siginfo_t same = {0};
		(void)waitid(P_PID, (id_t)info.si_pid, &same,
				WNOHANG | (is_end ? WEXITED : WSTOPPED | WCONTINUED));
		if (is_program && info.si_code == CLD_STOPPED) {
			stop_with_program(w, info.si_status);
		} else if (is_program && info.si_code == CLD_CONTINUED) {
			w->program_is_stopped = false;
		}
	}
}

// ---- signals

/** The same signal again: `timeout` also sends it to its group, `pkill` to the guardian. */
static bool is_echo(struct watch *w, const struct signals_arrived *arrived, bool is_shared) {
	struct last_signal *last = &w->last[arrived->signal % NSIG];
	struct last_signal now = {.is_guardians = w->params.guardian != 0 &&
					arrived->sender == w->params.guardian,
			.is_shared = is_shared,
			.taken_ns = clock_now_ns()};
	uint64_t gap_ns = now.taken_ns - last->taken_ns;
	bool is_of_two = now.is_guardians != last->is_guardians && gap_ns < GUARDIAN_ECHO_NS;
	bool is_same = is_of_two || (last->is_shared && gap_ns < ECHO_NS);
	now.is_shared |= is_same && last->is_shared;
	*last = is_of_two ? (struct last_signal){0} : now;
	return is_same;
}

static void pass_on(struct watch *w, const struct signals_arrived *arrived) {
	// Sent to heaptrack alone, it also ends the recording of a running program, only once
	bool is_own = !is_alive(w) || w->params.is_attached;
	bool is_shared = is_own ||
			(arrived->is_sent && witness_saw(w->params.witness, arrived->signal));
	if (is_echo(w, arrived, is_shared)) {
		return;
	}
	if (!is_alive(w)) {
		atomic_store(&w->is_hurried, true);
	} else if (w->params.is_attached) {
		if (arrived->signal != SIGUSR1 && arrived->signal != SIGUSR2) {
			w->end.is_detached = true;
			tell_end(w);
		}
	} else if (arrived->is_sent && arrived->sender != w->params.program && !is_shared) {
		(void)kill(w->params.program, arrived->signal);
	}
}

static void take_signals(struct watch *w) {
	struct signals_arrived arrived;
	bool is_continued = false;
	while (signals_next(w->params.signals_fd, &arrived)) {
		is_continued |= arrived.signal == SIGCONT;
		if (arrived.signal != SIGCHLD && arrived.signal != SIGCONT) {
			pass_on(w, &arrived);
		}
	}
	reap(w);
	// By fg or bg, which also continue the program, or by a signal to heaptrack alone
	if (is_continued && w->program_is_stopped && is_alive(w) &&
			process_is_stopped(w->params.program)) {
		(void)kill(w->params.program, SIGCONT);
	}
}

/** Its user may differ: the socket is for programs that dropped their rights. */
static void serve(void *user, int connection, const struct ucred *who) {
	struct watch *w = user;
	bool is_served;
	if (w->params.cells) {
		is_served = is_alive(w) && cells_serve(w->params.cells, connection, who);
		(void)(is_served || fd_send(connection, "", 1, -1, MSG_DONTWAIT)); // refused
		atomic_store(w->params.bell, 1);
		futex_wake(w->params.bell, 1);
	} else {
		is_served = who->pid == w->params.program;
		if (is_served && is_alive(w)) {
			(void)fd_send(connection, "", 1, w->params.segment_fd, MSG_DONTWAIT);
		}
	}
	if (!is_served) {
		(void)ANY(i, VISITORS, // a free place
				atomic_compare_exchange_strong(&w->visitors[i], &(pid_t){0}, who->pid));
	}
}

/** poll's timeout: to the next heartbeat, or the recording's end if sooner. */
static int patience_ms(const struct watch *w) {
	if (w->params.ends_ns == 0 || !is_alive(w)) {
		return BEAT_MS;
	}
	uint64_t now_ns = clock_now_ns();
	uint64_t ms = now_ns < w->params.ends_ns ? (w->params.ends_ns - now_ns) / 1000000 + 1 : 0;
	return (int)(ms < BEAT_MS ? ms : BEAT_MS);
}

static void look_at_attached(struct watch *w, bool has_program_ended) {
	if (!w->params.is_attached || !is_alive(w)) {
		return;
	}
	bool is_late = w->params.ends_ns != 0 && clock_now_ns() >= w->params.ends_ns;
	if (has_program_ended || is_late) {
		w->end.is_detached = !has_program_ended;
		int status = has_program_ended
				? process_wait_status(w->params.program_fd, w->params.program)
				: -1;
		w->end.is_signaled = status > 0 && WIFSIGNALED(status);
		w->end.status = status < 0   ? REC_STATUS_UNKNOWN
				: w->end.is_signaled ? WTERMSIG(status)
									 : WEXITSTATUS(status);
		tell_end(w);
	}
}

/** Wait for something, and handle it. False: stopped. */
static bool take_next(struct watch *w) {
	struct pollfd *fds = w->fds;
	struct control *control = w->params.control;
	atomic_fetch_add_explicit(w->params.heartbeat, 1, memory_order_relaxed);
	fds[4] = control_awaited(control);
	int most_ms = control_patience_ms(control, patience_ms(w));
	if (poll(fds, N_OF(w->fds), most_ms) < 0 && errno != EINTR) {
		return false;
	}
	look_at_attached(w, fds[3].revents != 0);
	if (fds[3].revents) {
		fds[3].fd = -1; // the end is reported once
	}
	if (fds[1].revents) {
		return false;
	}
	if (fds[0].revents) {
		take_signals(w);
	}
	if (fds[2].revents) {
		fd_door_serve(w->params.door_fd, serve, w);
	}
	control_step(control, fds[4].revents);
	return true;
}

static void *run(void *user) {
	struct watch *w = user;
	reap(w);
	while (take_next(w)) {}
	return NULL;
}

struct watch *watch_start(const struct watch_params *params, struct err *err) {
	struct watch *w = memory_new(1, sizeof *w);
	w->params = *params;
	w->stop_fd = eventfd(0, EFD_CLOEXEC);
	const int fds[] = {params->signals_fd, w->stop_fd, params->door_fd,
			params->is_attached ? params->program_fd : -1};
	for (size_t i = 0; i < N_OF(fds); i++) {
		w->fds[i] = (struct pollfd){.fd = fds[i], .events = POLLIN}; // poll skips a negative one
	}
	int why = w->stop_fd < 0 ? errno : pthread_create(&w->thread, NULL, run, w);
	if (why != 0) {
		(void)err_system(err, why, "cannot watch the program");
		file_close(w->stop_fd);
		free(w);
		return NULL;
	}
	return w;
}

bool watch_has_ended(const struct watch *w, struct watch_end *out) {
	bool has_ended = atomic_load_explicit(&w->has_ended, memory_order_acquire);
	if (has_ended && out) {
		*out = w->end;
	}
	return has_ended;
}

bool watch_is_hurried(const struct watch *w) {
	return atomic_load(&w->is_hurried);
}

void watch_await(struct watch *w, struct watch_end *out) {
	const bool is_own = pthread_equal(pthread_self(), w->thread) != 0;
	w->params.control = is_own ? NULL : w->params.control;
	while (!watch_has_ended(w, out)) {
		if (!is_own || !take_next(w)) {
			clock_sleep_ns(AWAIT_NS);
		}
	}
}

pid_t watch_take_visitor(struct watch *w) {
	pid_t pid = 0;
	for (size_t i = 0; i < VISITORS && pid == 0; i++) {
		pid = atomic_load(&w->visitors[i]) != 0 ? atomic_exchange(&w->visitors[i], 0) : 0;
	}
	return pid;
}

void watch_stop(struct watch *w) {
	if (!w) {
		return;
	}
	uint64_t one = 1;
	(void)!write(w->stop_fd, &one, sizeof one);
	(void)pthread_join(w->thread, NULL);
	(void)close(w->stop_fd);
	free(w);
}
