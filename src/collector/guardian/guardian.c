// SPDX-License-Identifier: MIT
/*
 * Both ends of the socket between heaptrack and its guardian, and the guardian's main loop. The
 * guardian carries out one order at a time, checks for new libraries in between, and detaches and
 * exits when the socket is closed.
 */
#include "collector/guardian/guardian.h"

#include "collector/launch/parts.h"
#include "sys/listen.h"
#include "wire/resident.h"

#include <sys/signalfd.h>

enum {
	RESCAN_MS = 1000,
	TEXT_BYTES = 16 << 10,
	NICE = -20, // while the guardian works, all threads of the process are stopped
};

enum order {
	ORDER_CATCH,
	ORDER_CREATE,
	ORDER_FOLLOW,
	ORDER_MEMORY,
	ORDER_TOKEN,
	ORDER_ADOPT,
	ORDER_ATTACH,
	ORDER_LET_GO,
	ORDER_DETACH,
	ORDER_HOLD,
	ORDER_COPY,
	ORDER_RELEASE,
	ORDER_REPORT
};

struct request {
	enum order order;
	pid_t target;               // unless the injector's
	enum injector_start start;  // of ORDER_CREATE
	int fd;                     // of ORDER_MEMORY: heaptrack's, to be the memory; -1: new memory
	char token[RESIDENT_TOKEN]; // of ORDER_TOKEN
	uint64_t max_pause_ns;      // of ORDER_ATTACH
	struct injector_room room;  // of ORDER_COPY
};

struct answer {
	bool ok, is_left;
	struct err err;
	struct injector_report report;
	char text[TEXT_BYTES];
};

// ---- the guardian

struct work {
	int socket, signals_fd;
	pid_t heaptrack;
	const char *recorder;
	_Atomic uint32_t *exec;
	struct injector *injector;
	struct tracee *hold;
	VEC(pid_t) tree;            // processes to be left at the end, the injector's or not,
	char token[RESIDENT_TOKEN]; // with that; or ""
};

static bool adopt(struct work *w, pid_t pid) {
	return FIND_IN(known, w->tree, *known == pid) || vec_add(&w->tree, pid);
}

/** Also what they have started since, which may be copies of them. */
static bool leave_tree(struct work *w, struct err *err) {
	enum { KIDS_MAX = 256 };
	const size_t n_known = w->tree.n;
	bool ok = true;
	for (size_t i = 0; i < w->tree.n; i++) {
		pid_t pid = w->tree.items[i], kids[KIDS_MAX];
		bool was_attached;
		struct process_memory m;
		for (size_t n = process_children(pid, kids, KIDS_MAX); n > 0; n--) {
			(void)adopt(w, kids[n - 1]);
		}
		ok &= injector_repair(pid, w->token, &was_attached, err) || i >= n_known ||
				!process_memory(pid, &m);
	}
	w->tree.n = 0;
	return ok;
}

/** Orders that need an injector. */
static void step(struct work *w, const struct request *r, struct answer *a, int *fd) {
	SCOPED(buffer) text = {0};
	a->ok = true;
	switch (r->order) {
	case ORDER_MEMORY:
		a->ok = injector_memory(w->injector,
				r->fd < 0 ? NULL : PROCESS_PATH(w->heaptrack, "fd/%d", r->fd), fd, &a->err);
		break;
	case ORDER_ATTACH: a->ok = injector_attach(w->injector, r->max_pause_ns, &a->err); break;
	case ORDER_DETACH: a->ok = injector_detach(w->injector, &a->err); break;
	case ORDER_LET_GO: injector_let_go(w->injector); break;
	default: break;
	}
	a->report = injector_report(w->injector);
	injector_describe(w->injector, &text);
	(void)snprintf(a->text, sizeof a->text, "%.*s", text.failed ? 0 : (int)text.size,
			text.data ? (const char *)text.data : "");
}

static void create(struct work *w, pid_t target, enum injector_start start, struct answer *a) {
	injector_destroy(w->injector); // of an earlier program
	w->injector = injector_create(target, start, w->recorder, w->token, &a->err);
	a->ok = w->injector != NULL;
	if (a->ok) {
		a->report = injector_report(w->injector);
	}
}

static bool expects_exec(void *user) {
	const struct work *w = user;
	return atomic_load(w->exec) == EXEC_SEIZED;
}

static void follow(struct work *w, pid_t target, struct answer *a) {
	enum injector_start start;
	bool has_execed = injector_await_exec(target, expects_exec, w, &a->err);
	a->is_left = !has_execed || !launch_exec_is_ours(target, &start);
	if (!a->is_left) {
		create(w, target, start, a);
	}
	if (!a->ok) { // the program may ask again, and is told before it goes on: it may be quick
		atomic_store(w->exec, EXEC_READY);
		futex_wake(w->exec, INT_MAX);
	}
	if (has_execed && a->is_left) {
		injector_leave(target);
	}
}

/** Stopped threads go on; all copies end. */
static void release(struct work *w) {
	injector_release(w->hold);
	w->hold = NULL;
	if (w->injector) {
		injector_drop_snapshot(w->injector);
	}
}

/** Returns the file of its threads. */
static int hold(struct work *w, const struct request *r, struct answer *a) {
	int fd = memfd_create("threads", MFD_CLOEXEC);
	w->hold = fd >= 0 ? injector_hold(r->target, &a->err) : NULL;
	struct graph_thread thread;
	size_t n = 1;
	a->ok = w->hold != NULL;
	for (size_t i = 0; a->ok && i < n; i++) {
		n = injector_held(w->hold, i, &thread);
		a->ok = write(fd, &thread, sizeof thread) == (ssize_t)sizeof thread;
	}
	if (!a->ok) {
		release(w);
		file_close(fd);
	}
	return a->ok ? fd : -1;
}

static bool obey(struct work *w, const struct request *r, struct answer *a) {
	CLOSED int fd = -1;
	*a = (struct answer){0};
	if (r->order == ORDER_CATCH) {
		a->ok = injector_catch(r->target, &a->err);
	} else if (r->order == ORDER_CREATE || r->order == ORDER_TOKEN) {
		if (r->start == INJECTOR_RUNNING || injector_await_exec(r->target, NULL, NULL, &a->err)) {
			memcpy(w->token, r->token, sizeof w->token);
			create(w, r->target, r->start, a);
		}
		if (a->ok && r->order == ORDER_TOKEN) {
			a->ok = injector_memory(w->injector, NULL, &fd, &a->err) && adopt(w, r->target);
		}
	} else if (r->order == ORDER_DETACH && w->tree.n > 0) {
		injector_destroy(w->injector);
		w->injector = NULL;
		a->ok = leave_tree(w, &a->err);
	} else if (r->order == ORDER_ADOPT) {
		a->ok = adopt(w, r->target);
	} else if (r->order == ORDER_FOLLOW) {
		follow(w, r->target, a);
	} else if (r->order == ORDER_HOLD) {
		fd = hold(w, r, a);
	} else if (r->order == ORDER_COPY && w->hold) {
		a->report.snapshot = injector_copy(w->hold, &r->room, &a->report.one_pause_ns, &a->err);
		a->ok = a->report.snapshot != 0;
	} else if (r->order == ORDER_RELEASE) {
		release(w);
		a->ok = true;
	} else if (w->injector) {
		step(w, r, a, &fd);
	}
	return fd_send(w->socket, a, sizeof *a, fd, 0);
}

/** Returns when heaptrack closes its end of the socket or exits. */
static void serve(struct work *w) {
	struct answer a;
	struct pollfd fds[] = {{.fd = w->socket, .events = POLLIN},
			{.fd = w->signals_fd, .events = POLLIN}}; // poll skips a negative one
	for (;;) {
		int n = poll(fds, 2, w->injector ? RESCAN_MS : -1);
		if (n == 0 && w->injector) {
			injector_rescan(w->injector);
		}
		// The guardian has heaptrack's arguments: a kill by name may hit it instead
		struct signalfd_siginfo info;
		if (n > 0 && fds[1].revents &&
				read(w->signals_fd, &info, sizeof info) == (ssize_t)sizeof info &&
				getppid() == w->heaptrack) {
			(void)kill(w->heaptrack, (int)info.ssi_signo);
		}
		struct request request;
		if (n > 0 && fds[0].revents &&
				(recv(w->socket, &request, sizeof request, 0) != (ssize_t)sizeof request ||
						!obey(w, &request, &a))) {
			return;
		}
	}
}

/** Signals never interrupt the guardian. Returns those that it forwards to heaptrack. */
static sigset_t block_signals(void) {
	static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
	sigset_t all, some;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	(void)sigemptyset(&some);
	for (size_t i = 0; i < N_OF(passed_on); i++) {
		(void)signal(passed_on[i], SIG_DFL); // an ignored signal would not arrive
		(void)sigaddset(&some, passed_on[i]);
	}
	return some;
}

static _Noreturn void guard(struct work *w) {
	const sigset_t passed_on = block_signals();
	(void)setsid();
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	(void)!write(score, "-900", 4);
	file_close(score);
	// The guardian must not keep a terminal or a pipe open
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++) {
		(void)dup2(null, fd);
	}
	(void)prctl(PR_SET_TIMERSLACK, 1ul);
	(void)prctl(PR_SET_DUMPABLE, 0); // registers of the process pass through its memory
	w->signals_fd = signalfd(-1, &passed_on, SFD_CLOEXEC | SFD_NONBLOCK);
	serve(w);
	release(w);
	if (w->injector) {
		(void)injector_detach(w->injector, NULL);
	}
	(void)leave_tree(w, NULL);
	_exit(0); // the kernel releases what is still traced
}

// ---- heaptrack's side

static bool send_request(const struct guardian *g, const struct request *r) {
	return send(g->socket, r, sizeof *r, MSG_NOSIGNAL) == (ssize_t)sizeof *r;
}

/** `a` may be NULL. `*fd`: the descriptor sent with the answer, if any; else `fd` may be NULL. */
static bool take_answer(const struct guardian *g, struct answer *a, int *fd, struct err *err) {
	struct answer own;
	a = a ?: &own;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	struct iovec part = {a, sizeof *a};
	struct msghdr message = {.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof control.bytes};
	ssize_t n;
	do {
		n = recvmsg(g->socket, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof *a) {
		return err_failed(err, "heaptrack's helper process has died");
	}
	if (message.msg_controllen > 0) {
		memcpy(fd, CMSG_DATA(&control.header), sizeof *fd);
	}
	if (!a->ok && err) {
		*err = a->err;
	}
	return a->ok;
}

static bool ask(const struct guardian *g, const struct request *r, struct answer *a, int *fd,
		struct err *err) {
	(void)send_request(g, r); // if the guardian is gone, there is no answer either
	return take_answer(g, a, fd, err);
}

bool guardian_start(struct guardian *g, const char *recorder, _Atomic uint32_t *exec,
		struct err *err) {
	int ends[2];
	*g = (struct guardian){.socket = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		return err_system(err, errno, "cannot create a socket");
	}
	pid_t heaptrack = getpid();
	g->pid = fork();
	if (g->pid == 0) {
		struct work w = {.socket = ends[1],
				.heaptrack = heaptrack,
				.recorder = recorder,
				.exec = exec};
		memory_must_or(NULL, NULL); // it ends in order
		(void)close(ends[0]);
		guard(&w);
	}
	(void)close(ends[1]);
	if (g->pid < 0) {
		g->pid = 0;
		(void)close(ends[0]);
		return err_system(err, errno, "cannot start a process");
	}
	g->socket = ends[0];
	return true;
}

bool guardian_catch(struct guardian *g, pid_t target, struct err *err) {
	return ask(g, &(struct request){.order = ORDER_CATCH, .target = target}, NULL, NULL, err);
}

void guardian_await(struct guardian *g, pid_t target, enum injector_start start) {
	(void)send_request(g,
			&(struct request){.order = ORDER_CREATE, .target = target, .start = start});
}

bool guardian_awaited(struct guardian *g, pid_t *pid_inside, struct err *err) {
	struct answer a;
	bool ok = take_answer(g, &a, NULL, err);
	*pid_inside = ok ? a.report.pid_inside : *pid_inside;
	return ok;
}

void guardian_let_go(struct guardian *g) {
	(void)ask(g, &(struct request){.order = ORDER_LET_GO}, NULL, NULL, NULL);
}

bool guardian_follow(struct guardian *g, pid_t target, pid_t *pid_inside, bool *is_left,
		struct err *err) {
	struct answer a;
	a.is_left = false; // and stays so without an answer
	bool ok = ask(g, &(struct request){.order = ORDER_FOLLOW, .target = target}, &a, NULL, err);
	*is_left = !ok && a.is_left;
	*pid_inside = ok ? a.report.pid_inside : *pid_inside;
	return ok;
}

int guardian_memory(struct guardian *g, int fd, struct err *err) {
	int got = -1;
	(void)ask(g, &(struct request){.order = ORDER_MEMORY, .fd = fd}, NULL, &got, err);
	return got;
}

int guardian_hold(struct guardian *g, pid_t target, struct err *err) {
	int fd = -1;
	(void)ask(g, &(struct request){.order = ORDER_HOLD, .target = target}, NULL, &fd, err);
	return fd;
}

void guardian_release(struct guardian *g) {
	(void)ask(g, &(struct request){.order = ORDER_RELEASE}, NULL, NULL, NULL);
}

static bool ask_and_work(struct guardian *g, const struct request *r, void (*work)(void *user),
		void *user, struct err *err) {
	struct pollfd answer = {.fd = g->socket, .events = POLLIN};
	(void)send_request(g, r);
	while (work && poll(&answer, 1, 1) <= 0) {
		work(user);
	}
	return take_answer(g, NULL, NULL, err);
}

bool guardian_attach(struct guardian *g, uint64_t max_pause_ns, void (*work)(void *user),
		void *user, struct err *err) {
	const struct request r = {.order = ORDER_ATTACH, .max_pause_ns = max_pause_ns};
	return ask_and_work(g, &r, work, user, err);
}

bool guardian_detach(struct guardian *g, void (*work)(void *user), void *user, struct err *err) {
	return ask_and_work(g, &(struct request){.order = ORDER_DETACH}, work, user, err);
}

bool guardian_token(struct guardian *g, pid_t target, const char *token, void (*work)(void *user),
		void *user, struct err *err) {
	struct request r = {.order = ORDER_TOKEN, .target = target, .start = INJECTOR_RUNNING};
	(void)snprintf(r.token, sizeof r.token, "%s", token);
	return ask_and_work(g, &r, work, user, err);
}

void guardian_adopt(struct guardian *g, pid_t target) {
	(void)ask(g, &(struct request){.order = ORDER_ADOPT, .target = target}, NULL, NULL, NULL);
}

pid_t guardian_copy(struct guardian *g, const struct injector_room *room, uint64_t *pause_ns,
		struct err *err) {
	struct answer a;
	bool ok = ask(g, &(struct request){.order = ORDER_COPY, .room = *room}, &a, NULL, err);
	*pause_ns = ok ? a.report.one_pause_ns : 0;
	return ok ? a.report.snapshot : 0;
}

bool guardian_report(struct guardian *g, struct injector_report *report, char *text, size_t size) {
	struct answer a;
	bool ok = ask(g, &(struct request){.order = ORDER_REPORT}, &a, NULL, NULL);
	if (ok) {
		*report = a.report;
		(void)snprintf(text, size, "%s", a.text);
	}
	return ok;
}

void guardian_stop(struct guardian *g) {
	if (g->pid <= 0) {
		return;
	}
	(void)close(g->socket);
	(void)waitpid(g->pid, NULL, 0); // may fail: the watching thread may have reaped it
	*g = (struct guardian){.socket = -1};
}
