// SPDX-License-Identifier: MIT
/* Saves and restores dispositions, and reads signals from a descriptor. */
#include "sys/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

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
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
		(void)sigaddset(&set, taken[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	// Blocked first: an ignored signal that is not blocked would be dropped, and SIGCHLD ignored
	// means that no child can be waited for
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
		(void)signal(taken[i], SIG_DFL);
	}
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
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
	out->is_sent = info.ssi_code <= 0; // SI_USER, SI_QUEUE, SI_TKILL; the terminal's is SI_KERNEL
	out->sender = (int)info.ssi_pid;
	return true;
}
