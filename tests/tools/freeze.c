// SPDX-License-Identifier: MIT

/**
 * Stop one thread of a process for a while, again and again, as a debugger would:
 *
 *   freeze PID SECONDS TIMES
 *
 * Each time a thread by chance, at a moment by chance. Prints how often it came to that.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_for(double seconds) {
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	nanosleep(&t, NULL);
}

/** A thread of the process, or 0. */
static pid_t any_thread(const char *pid) {
	char path[64];
	snprintf(path, sizeof path, "/proc/%s/task", pid);
	DIR *tasks = opendir(path);
	pid_t chosen = 0;
	int n = 0;
	for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
		if (atoi(entry->d_name) > 0 && rand() % ++n == 0) {
			chosen = atoi(entry->d_name);
		}
	}
	if (tasks) {
		closedir(tasks);
	}
	return chosen;
}

/** Wait until the thread stands still because we asked; signals that come first are handed on. */
static int wait_for_stop(pid_t tid) {
	int status;
	while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status)) {
		if (status >> 16 == PTRACE_EVENT_STOP) {
			return 1;
		}
		ptrace(PTRACE_CONT, tid, 0, WSTOPSIG(status));
	}
	return 0; // it is gone
}

static int freeze(pid_t tid, double seconds) {
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 ||
			!wait_for_stop(tid)) {
		return 0;
	}
	sleep_for(seconds);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return 1;
}

int main(int argc, char **argv) {
	if (argc != 4) {
		return 2;
	}
	srand((unsigned)getpid());
	int n = 0;
	for (int i = 0; i < atoi(argv[3]); i++) {
		sleep_for(0.01 + (double)(rand() % 200) / 1000);
		pid_t tid = any_thread(argv[1]);
		n += tid ? freeze(tid, atof(argv[2])) : 0;
	}
	printf("%d\n", n);
	return 0;
}
