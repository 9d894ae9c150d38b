// SPDX-License-Identifier: MIT
#pragma once
/**
 * The process that runs the injector for heaptrack, and undoes its work if heaptrack dies.
 *
 * It is a child of heaptrack with the same name, in its own session, all signals blocked. When
 * heaptrack dies for whatever reason, the guardian finishes its current step, removes the hooks and
 * exits: only a SIGKILL of the guardian itself, during the millisecond of a change, can harm an
 * attached process. Once a second it checks for newly loaded libraries. One thread; guardian_start
 * comes before there are others.
 */

#include "injector/injector.h"

struct guardian {
	pid_t pid;  // 0: none
	int socket; // to it
};

/** `exec`: the segment's word, if the program may have to be followed; else NULL. */
bool guardian_start(struct guardian *g, const char *recorder, _Atomic uint32_t *exec,
		struct err *err);

/** Steps of the injector (injector/injector.h). */
bool guardian_catch(struct guardian *g, pid_t target, struct err *err);
/** injector_create in two steps, between which the program may be told to exec. */
void guardian_await(struct guardian *g, pid_t target, enum injector_start start);
bool guardian_awaited(struct guardian *g, pid_t *pid_inside, struct err *err);
void guardian_let_go(struct guardian *g);
/** `fd`: our descriptor that is to be the memory; -1: make one. -1: `err` says why not. */
int guardian_memory(struct guardian *g, int fd, struct err *err);
/** Both for a process of a tree; guardian_attach comes next, and guardian_detach is for all. */
bool guardian_token(struct guardian *g, pid_t target, const char *token, void (*work)(void *user),
		void *user, struct err *err);
/** A copy of such a process is left like it. */
void guardian_adopt(struct guardian *g, pid_t target);

/**
 * After guardian_catch. True: it is held, as by guardian_awaited, because the recorder cannot be
 * preloaded. False with `*is_left`: it need not be held, and runs.
 */
bool guardian_follow(struct guardian *g, pid_t target, pid_t *pid_inside, bool *is_left,
		struct err *err);

/**
 * Attach, with `max_pause_ns` as in injector_attach, or detach. Threads may be recorded before an
 * attach is complete, and may wait for room in their rings until a detach is: meanwhile `work`,
 * which takes at most some ms and may be NULL, is called repeatedly.
 */
bool guardian_attach(struct guardian *g, uint64_t max_pause_ns, void (*work)(void *user),
		void *user, struct err *err);
bool guardian_detach(struct guardian *g, void (*work)(void *user), void *user, struct err *err);

/** Stop all threads of the process, and get a file of a struct graph_thread for each. */
int guardian_hold(struct guardian *g, pid_t target, struct err *err);

/** Copy the stopped process; its threads go on in any case. *pause_ns: their pause. 0: no copy. */
pid_t guardian_copy(struct guardian *g, const struct injector_room *room, uint64_t *pause_ns,
		struct err *err);

/** Let stopped threads go on, and end all copies of the process's memory. */
void guardian_release(struct guardian *g);

/** What attaching cost, and what is hooked (`text`: as injector_describe says). */
bool guardian_report(struct guardian *g, struct injector_report *report, char *text, size_t size);

/** Detach, if not yet done, and end the process. A zeroed guardian is allowed. */
void guardian_stop(struct guardian *g);
