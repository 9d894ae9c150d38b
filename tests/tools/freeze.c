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

static int freeze(pid_t tid, double seconds) {
	int status;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0) {
		return 0;
	}
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 || waitpid(tid, &status, __WALL) != tid ||
			!WIFSTOPPED(status)) {
		return 0;
	}
	sleep_for(seconds);
	// A signal that came first is handed on
	int event = status >> 16;
	ptrace(PTRACE_DETACH, tid, 0, event ? 0 : WSTOPSIG(status));
	return event != 0;
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
