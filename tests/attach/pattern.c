// SPDX-License-Identifier: MIT

/*
 * A program that notices when it is harmed. It runs until SIGTERM, then says what it saw:
 *
 *   pattern [threads [ways...]]
 *
 * Its threads allocate, move and free blocks in every way there is, and check each byte. Ways:
 *   fork     a thread forks all the time; the children allocate and check, too
 *   vfork    a thread runs /bin/true by posix_spawn all the time
 *   spin     a thread calls free(NULL) and nothing else
 *   signals  a thread queues real-time signals and counts those that arrive
 *   waits    threads sleep in calls that a tracer could interrupt: none may return EINTR
 *   old      10,000 blocks from before, freed and moved little by little
 *
 * Exit status 0: all was well.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_BLOCKS = 200, N_OLD = 10000, THREADS_MAX = 512 };

extern char **environ;

static _Atomic bool is_over;
static _Atomic uint64_t n_operations, n_bad, n_eintr, n_sent, n_received, n_children, n_waits;

struct block {
	unsigned char *at;
	size_t size;
	unsigned char value;
};

static uint32_t next_random(uint32_t *state) {
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void check(const struct block *b, size_t size) {
	for (size_t i = 0; i < size; i++) {
		if (b->at[i] != b->value) {
			atomic_fetch_add(&n_bad, 1);
			return;
		}
	}
}

static void fill(struct block *b, size_t size, unsigned char value) {
	b->size = size;
	b->value = value;
	memset(b->at, value, size);
}

static void allocate(struct block *b, uint32_t random) {
	size_t size = 1 + random % 3000;
	void *at = NULL;
	switch (random >> 12 & 7) {
	case 0: at = calloc(1, size); break;
	case 1:
		if (posix_memalign(&at, 64, size) != 0) {
			at = NULL;
		}
		break;
	case 2: at = aligned_alloc(32, (size + 31) / 32 * 32); break;
	case 3: at = memalign(128, size); break;
	case 4: at = realloc(NULL, size); break;
	default: at = malloc(size); break;
	}
	if (at == NULL) {
		atomic_fetch_add(&n_bad, 1);
		return;
	}
	b->at = at;
	fill(b, size, (unsigned char)random);
}

static void step(struct block *b, uint32_t random) {
	if (b->at == NULL) {
		allocate(b, random);
		return;
	}
	check(b, b->size);
	if ((random & 3) == 0) {
		size_t size = 1 + random % 5000;
		unsigned char *moved = realloc(b->at, size);
		if (moved != NULL) {
			b->at = moved;
			check(b, size < b->size ? size : b->size);
			fill(b, size, (unsigned char)random);
		}
	} else {
		free(b->at);
		b->at = NULL;
	}
}

static void *churn(void *seed) {
	struct block blocks[N_BLOCKS] = {0};
	uint32_t state = (uint32_t)(uintptr_t)seed;
	while (!is_over) {
		for (unsigned i = 0; i < 100; i++) {
			step(&blocks[next_random(&state) % N_BLOCKS], next_random(&state));
		}
		atomic_fetch_add(&n_operations, 100);
		if ((next_random(&state) & 31) == 0) {
			usleep(500);
		}
	}
	for (unsigned i = 0; i < N_BLOCKS; i++) {
		if (blocks[i].at != NULL) {
			check(&blocks[i], blocks[i].size);
			free(blocks[i].at);
		}
	}
	return NULL;
}

static void *spin(void *none) {
	(void)none;
	while (!is_over) {
		for (unsigned i = 0; i < 10000; i++) {
			free(NULL);
		}
	}
	return NULL;
}

// ---- children

static void wait_well(pid_t child) {
	int status;
	if (waitpid(child, &status, 0) == child && status != 0) {
		fprintf(stderr, "child: status 0x%x\n", status);
		atomic_fetch_add(&n_bad, 1);
	}
	atomic_fetch_add(&n_children, 1);
}

static void *fork_all_the_time(void *none) {
	(void)none;
	while (!is_over) {
		pid_t child = fork();
		if (child == 0) {
			struct block blocks[N_BLOCKS] = {0};
			uint32_t state = (uint32_t)getpid();
			for (unsigned i = 0; i < 5000; i++) {
				step(&blocks[next_random(&state) % N_BLOCKS], next_random(&state));
			}
			_exit(n_bad != 0);
		}
		if (child > 0) {
			wait_well(child);
		}
		usleep(1000);
	}
	return NULL;
}

static void *spawn_all_the_time(void *none) {
	(void)none;
	char *argv[] = {(char *)"true", NULL};
	while (!is_over) {
		pid_t child;
		if (posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) == 0) {
			wait_well(child);
		}
	}
	return NULL;
}

// ---- signals

static void count_signal(int signal, siginfo_t *info, void *context) {
	(void)signal;
	(void)info;
	(void)context;
	atomic_fetch_add(&n_received, 1);
}

static void *send_signals(void *none) {
	(void)none;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (!is_over) {
		if (sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0) {
			atomic_fetch_add(&n_sent, 1);
		}
		free(malloc(100));
	}
	return NULL;
}

// ---- waits

static void count_wait(long result) {
	if (result < 0 && errno == EINTR) {
		atomic_fetch_add(&n_eintr, 1);
	}
	atomic_fetch_add(&n_waits, 1);
}

static void *wait_epoll(void *none) {
	(void)none;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	while (!is_over) {
		count_wait(epoll_wait(fd, &event, 1, 20));
	}
	return NULL;
}

static void *wait_signal(void *none) {
	(void)none;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	const struct timespec time = {.tv_nsec = 20000000};
	while (!is_over) {
		count_wait(sigtimedwait(&set, NULL, &time));
	}
	return NULL;
}

static void *wait_semaphore(void *none) {
	(void)none;
	int id = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf down = {0, -1, 0};
	const struct timespec time = {.tv_nsec = 20000000};
	while (!is_over) {
		count_wait(semtimedop(id, &down, 1, &time));
	}
	(void)semctl(id, 0, IPC_RMID);
	return NULL;
}

static void *wait_socket(void *none) {
	(void)none;
	int fds[2];
	const struct timeval time = {.tv_usec = 20000};
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) {
		return NULL;
	}
	(void)setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
	while (!is_over) {
		char byte;
		count_wait(recv(fds[0], &byte, 1, 0));
	}
	return NULL;
}

static void *wait_sleep(void *none) {
	(void)none;
	while (!is_over) {
		struct timespec time = {.tv_nsec = 20000000};
		count_wait(nanosleep(&time, NULL));
	}
	return NULL;
}

// ---- blocks from before

static void *use_old(void *none) {
	(void)none;
	struct block *blocks = calloc(N_OLD, sizeof *blocks);
	uint32_t state = 7;
	for (unsigned i = 0; blocks != NULL && i < N_OLD; i++) {
		allocate(&blocks[i], next_random(&state));
	}
	while (blocks != NULL && !is_over) {
		step(&blocks[next_random(&state) % N_OLD], next_random(&state));
		usleep(200);
	}
	return NULL;
}

// ----

static pthread_t threads[THREADS_MAX];
static unsigned n_threads;

static void start(void *(*run)(void *), uintptr_t argument) {
	if (n_threads < THREADS_MAX &&
			pthread_create(&threads[n_threads], NULL, run, (void *)argument) == 0) {
		n_threads++;
	}
}

static void start_way(const char *way) {
	static const struct {
		const char *name;
		void *(*run)(void *);
	} ways[] = {
			{"fork", fork_all_the_time},
			{"vfork", spawn_all_the_time},
			{"spin", spin},
			{"signals", send_signals},
			{"waits", wait_epoll},
			{"waits", wait_signal},
			{"waits", wait_semaphore},
			{"waits", wait_socket},
			{"waits", wait_sleep},
			{"old", use_old},
	};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (strcmp(ways[i].name, way) == 0) {
			start(ways[i].run, 0);
		}
	}
}

int main(int argc, char **argv) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	struct sigaction action = {.sa_sigaction = count_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	(void)sigaction(SIGRTMIN, &action, NULL);

	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
	for (unsigned i = 0; i < n; i++) {
		start(churn, i + 1);
	}
	for (int i = 2; i < argc; i++) {
		start_way(argv[i]);
	}
	(void)puts("ready");
	(void)fflush(stdout);
	sigdelset(&set, SIGUSR2);
	sigdelset(&set, SIGRTMIN);
	int signal;
	(void)sigwait(&set, &signal);
	is_over = true;
	for (unsigned i = 0; i < n_threads; i++) {
		(void)pthread_join(threads[i], NULL);
	}
	bool is_well = n_bad == 0 && n_eintr == 0 && n_sent == n_received;
	(void)printf("operations %llu bad %llu eintr %llu of %llu signals %llu of %llu children %llu\n",
			(unsigned long long)n_operations, (unsigned long long)n_bad,
			(unsigned long long)n_eintr, (unsigned long long)n_waits,
			(unsigned long long)n_received, (unsigned long long)n_sent,
			(unsigned long long)n_children);
	return is_well ? 0 : 1;
}
