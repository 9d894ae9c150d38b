// SPDX-License-Identifier: MIT
// Forks with a large heap: forks BLOCKS BYTES FORKS. Having allocated, it says so and waits for a line; then it
// writes the median of what fork() took, and of the CPU time that a child had taken when fork() returned there,
// in µs. Children end at once; 50 ms lie between two forks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FORKS_MAX = 1000 };

static double now_us(clockid_t clock) {
	struct timespec t;
	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, int n) {
	qsort(values, (size_t)n, sizeof *values, compare);
	return values[n / 2];
}

int main(int argc, char **argv) {
	static double took[FORKS_MAX], begun[FORKS_MAX];
	if (argc != 4 || atoi(argv[3]) > FORKS_MAX) {
		return 2;
	}
	int n_forks = atoi(argv[3]);
	size_t bytes = (size_t)atol(argv[2]);
	for (long i = atol(argv[1]); i > 0; i--) {
		char *block = malloc(bytes);
		if (!block) {
			return 1;
		}
		(void)memset(block, 1, bytes);
		__asm__ volatile("" : : "r"(block) : "memory");
	}
	double *child_us = mmap(NULL, sizeof *child_us, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)printf("ready\n");
	(void)fflush(stdout);
	(void)getchar();
	for (int i = 0; i < n_forks; i++) {
		double before = now_us(CLOCK_MONOTONIC);
		pid_t pid = fork();
		if (pid == 0) {
			*child_us = now_us(CLOCK_PROCESS_CPUTIME_ID);
			_exit(0);
		}
		took[i] = now_us(CLOCK_MONOTONIC) - before;
		(void)waitpid(pid, NULL, 0);
		begun[i] = *child_us;
		(void)usleep(50000);
	}
	(void)printf("%.1f %.1f\n", median(took, n_forks), median(begun, n_forks));
	return 0;
}
