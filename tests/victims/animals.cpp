// SPDX-License-Identifier: MIT
/*
 * animals [WORD...]: roots and classes that grow, shrink, come and go. Words of the command line, or
 * lines of standard input: begin; change; look, by the API, which calls it "changed". After each the
 * pid is said.
 */
#include "heaptrack_api.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

struct Animal {
	Animal *next = nullptr;
	virtual ~Animal() {}
};
struct Cat : Animal {
	char rest[100];
};
struct Dog : Animal {
	char rest[200];
};
struct Owl : Animal {
	char rest[300];
};

Animal *g_grows, *g_shrinks, *g_gone, *g_new, *g_same;
void *g_arena;

template <class T> static void push(Animal *&list, int n) {
	while (n-- > 0) {
		Animal *one = new T;
		one->next = list;
		list = one;
	}
}

static void pop(Animal *&list, int n) {
	while (n-- > 0) {
		Animal *one = list;
		list = one->next;
		delete one;
	}
}

static void fill_arena() {
	g_arena = malloc(2500);
	for (int i = 0; i < 11; i++) {
		new (static_cast<char *>(g_arena) + i * sizeof(Dog)) Dog;
	}
}

/** No pointer stays behind in what was stack. */
static void scrub() {
	volatile char stack[16384];
	for (auto &byte : stack) {
		byte = 0;
	}
}

static void follow(char word) {
	if (word == 'b') {
		push<Cat>(g_same, 10);
		push<Cat>(g_grows, 100);
		push<Dog>(g_shrinks, 300);
		push<Owl>(g_gone, 7);
		fill_arena();
	} else if (word == 'c') {
		push<Cat>(g_grows, 50);
		pop(g_shrinks, 120);
		pop(g_gone, 7);
		push<Owl>(g_new, 5);
	}
	scrub();
	if (word == 'l') {
		heaptrack_report_look("changed");
	}
	dprintf(1, "%d\n", getpid());
}

int main(int argc, char **argv) {
	static char line[16];
	setvbuf(stdin, nullptr, _IONBF, 0);
	for (int i = 1; i < argc; i++) {
		follow(*argv[i]);
	}
	while (argc == 1 && fgets(line, sizeof line, stdin)) {
		follow(*line);
	}
}
