// SPDX-License-Identifier: MIT
/**
 * A program whose memory takes long to copy: `large MB MAPPINGS` touches that many MB and has that many
 * mappings, of a page each. Two threads note the longest time for which they did not run. At SIGUSR1 it
 * says "gap MICROSECONDS" and begins anew; at SIGUSR2 it allocates 1000 blocks of 100 bytes, frees half
 * of them, and says "done".
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static _Atomic uint64_t longest_ns, turn;

static uint64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *watch(void *unused) {
	(void)unused;
	uint64_t seen = 0, before_ns = now_ns();
	for (;;) {
		uint64_t is = atomic_load(&turn), ns = now_ns();
		if (is == seen && ns - before_ns > atomic_load(&longest_ns)) {
			atomic_store(&longest_ns, ns - before_ns);
		}
		seen = is;
		before_ns = ns;
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	return NULL;
}

static void map(size_t mb, size_t n_mappings) {
	enum { PAGE = 4096 };
	char *all = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < mb << 20; i += PAGE) {
		all[i] = 1;
	}
	char *many = mmap(NULL, n_mappings * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	for (size_t i = 0; i < n_mappings; i++) {
		many[i * PAGE] = 1;
		if (i % 2 && mprotect(many + i * PAGE, PAGE, PROT_READ) != 0) {
			exit(1); // vm.max_map_count
		}
	}
}

int main(int argc, char **argv) {
	sigset_t wanted;
	int got = 0;
	if (argc != 3) {
		return 2;
	}
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	sigaddset(&wanted, SIGUSR2);
	sigaddset(&wanted, SIGTERM);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	void *before = malloc(1000);
	map(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, watch, NULL) != 0) {
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (sigwait(&wanted, &got) == 0 && got != SIGTERM) {
		if (got == SIGUSR1) {
			printf("gap %lu\n", (unsigned long)(atomic_exchange(&longest_ns, 0) / 1000));
			atomic_fetch_add(&turn, 1);
		} else {
			free(before);
			before = NULL;
			for (int i = 0; i < 1000; i++) {
				void *block = malloc(100);
				free(i % 2 ? block : NULL);
			}
			puts("done");
		}
		fflush(stdout);
	}
	return 0;
}
