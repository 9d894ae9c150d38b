// SPDX-License-Identifier: MIT
/**
 * Makes code as a JIT compiler does, and tells perf its names: first() allocates 1000 blocks of
 * 100 bytes, then other code takes its place: second() allocates 500 of 200. With "wait" it begins at
 * SIGUSR1 and stays until SIGTERM. Lines that are none, and half a line, stand between.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret
static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

typedef void *(*made)(void *(*allocate)(void));

static void *hundred(void) {
	void *volatile block = malloc(100);
	return block;
}

static void *two_hundred(void) {
	void *volatile block = malloc(200);
	return block;
}

static void tell(FILE *map, const void *at, const char *name) {
	fprintf(map, "no line\n%lx 0 empty\n", (unsigned long)at);
	fprintf(map, "%lx ", (unsigned long)at);
	fflush(map); // a reader may see this half of it
	usleep(1000000);
	fprintf(map, "%zx %s\n", sizeof code, name);
	fflush(map);
	usleep(1000000);
}

int main(int argc, char **argv) {
	int waits = argc > 1 && strcmp(argv[1], "wait") == 0;
	char path[64];
	sigset_t wanted;
	int got;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	sigaddset(&wanted, SIGTERM);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (!map || memory == MAP_FAILED) {
		return 1;
	}
	memcpy(memory, code, sizeof code);
	puts("ready");
	fflush(stdout);
	if (waits) {
		sigwait(&wanted, &got);
	}
	made call;
	memcpy(&call, &memory, sizeof call);
	tell(map, memory, "JS:~first /srv/a.js:3:1");
	for (int i = 0; i < 1000; i++) {
		call(hundred);
	}
	usleep(1000000);
	tell(map, memory, "JS:~second /srv/b.js:7:1");
	for (int i = 0; i < 500; i++) {
		call(two_hundred);
	}
	puts("done");
	fflush(stdout);
	if (waits) {
		sigwait(&wanted, &got);
	}
	unlink(path);
	return 0;
}
