// SPDX-License-Identifier: MIT
/*
 * Makes structures of all sorts with owners of all sorts, and loses some of them, whole or in part:
 * lost SEED [no-ends]. What will be lost is allocated by lost_block(), what is hidden from each search by
 * hidden_block(), all else by held_block(). Prints how many blocks each has allocated.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PARTS = 60, THREADS = 3, SLOTS = 8, STACK_BYTES = 64 << 10, PAGE = 4096 };
enum fate { HELD, LOST, HIDDEN, FATES };

struct link {
	struct link *next, *before;
};

struct item {
	struct item *next, *other, *above;
	char packed[12]; // a pointer begins at its second byte
	uint32_t count;
	struct link link;
	uintptr_t tagged;
	void *text;
};

static uint64_t state;
static size_t n_blocks[FATES];
static enum fate fate; // of what is allocated now
static void ***cuts;   // words that lead to what is lost
static size_t n_cuts;

static uint64_t below(uint64_t n) {
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % n;
}

#define ALLOCATOR(name)                                         \
	__attribute__((noinline)) static void *name(size_t bytes) { \
		void *block = calloc(1, bytes);                         \
		__asm__ volatile("" : "+r"(block));                     \
		return block;                                           \
	}
ALLOCATOR(held_block)
ALLOCATOR(lost_block)
ALLOCATOR(hidden_block)

static void *block(size_t bytes) {
	n_blocks[fate]++;
	return fate == LOST      ? lost_block(bytes)
			: fate == HIDDEN ? hidden_block(bytes)
							 : held_block(bytes);
}

/** Now and then one that malloc maps. Its text is a block of its own, perhaps. */
static struct item *item(void) {
	struct item *i = block(sizeof *i + (below(100) == 0 ? 200000 : below(6) * 16));
	i->text = below(2) ? block(1 + below(90)) : NULL;
	return i;
}

static void cut_later(void **word) {
	cuts[n_cuts++] = (void **)word;
}

// ---- structures: each returns the word that holds it

static uintptr_t list(size_t n);

/** What hangs below here will be lost. */
static void hang(struct item **at) {
	if (fate == HELD && below(3) == 0) {
		fate = LOST;
		*at = (struct item *)list(1 + below(20));
		fate = HELD;
		cut_later((void **)at);
	}
}

static uintptr_t list(size_t n) {
	struct item *first = item();
	struct item *last = first;
	for (size_t i = 1; i < n; i++) {
		last->next = item();
		last->next->other = below(2) ? last : NULL;
		last = last->next;
	}
	hang(&last->next);
	return (uintptr_t)first;
}

static uintptr_t ring(size_t n) {
	struct item *first = (struct item *)list(n), *last = first;
	for (size_t i = 1; i < n; i++) {
		last = last->next;
	}
	last->above = first;
	return (uintptr_t)last;
}

static struct item *grow(size_t n, struct item *above) {
	if (n == 0) {
		return NULL;
	}
	struct item *i = item();
	i->above = above;
	i->next = grow((n - 1) / 2, i);
	i->other = grow(n - 1 - (n - 1) / 2, i);
	if (!i->next) {
		hang(&i->next);
	}
	return i;
}

static uintptr_t tree(size_t n) {
	return (uintptr_t)grow(n, NULL);
}

/** As the kernel's: from the inside of one to the inside of the next. */
static uintptr_t intrusive(size_t n) {
	struct item *first = item(), *last = first;
	for (size_t i = 1; i < n; i++) {
		struct item *next = item();
		last->link.next = &next->link;
		next->link.before = &last->link;
		last = next;
	}
	last->link.next = &first->link;
	first->link.before = &last->link;
	return (uintptr_t)&first->link;
}

static uintptr_t with_low_tags(size_t n) {
	uintptr_t word = 0;
	for (size_t i = 0; i < n; i++) {
		struct item *next = item();
		next->tagged = word;
		word = (uintptr_t)next | (1 + below(7));
	}
	return word;
}

static uintptr_t with_high_tags(size_t n) {
	uintptr_t word = 0;
	for (size_t i = 0; i < n; i++) {
		struct item *next = item();
		next->tagged = word;
		word = (uintptr_t)next | (uintptr_t)(1 + below(65535)) << 48;
	}
	return word;
}

static uintptr_t unaligned(size_t n) {
	struct item *first = NULL;
	for (size_t i = 0; i < n; i++) {
		struct item *next = item();
		memcpy(next->packed + 1, &first, sizeof first);
		first = next;
	}
	return (uintptr_t)first;
}

/** Vectors by where they end. */
static uintptr_t past_ends(size_t n) {
	char *end = NULL;
	for (size_t i = 0; i < n; i++) {
		size_t words = 2 + below(20) * 2;
		char **vector = block(words * sizeof *vector);
		vector[0] = end;
		end = (char *)(vector + words);
	}
	return (uintptr_t)end;
}

/** Counted objects: each has two owners in a table, and loses one. */
static uintptr_t shared(size_t n) {
	struct item **table = block(2 * n * sizeof *table);
	for (size_t i = 0; i < n; i++) {
		struct item *control = item();
		control->other = item();
		control->count = 2;
		table[2 * i] = table[2 * i + 1] = control;
		table[2 * i + below(2)] = NULL;
		control->count--;
	}
	return (uintptr_t)table;
}

/** Objects in one block, of which only the last one is pointed to: by its inside. */
static uintptr_t pool(size_t n) {
	struct item *all = block(n * sizeof *all);
	for (size_t i = 0; i < n; i++) {
		all[i].next = i > 0 ? &all[i - 1] : NULL;
		all[i].text = block(1 + below(90));
	}
	return (uintptr_t)&all[n - 1];
}

struct coroutine {
	ucontext_t its, back;
	char *stack;
	size_t n;
	struct item *first;
};
static struct coroutine *running;

static __attribute__((noinline)) void suspend_with(struct item *first) {
	struct item *volatile only = first;
	running->first = NULL;
	(void)swapcontext(&running->its, &running->back);
	(void)only; // it lives until here, which is never reached
}

static void run(void) {
	suspend_with(running->first);
}

/** A list that only a local variable of a suspended coroutine leads to. */
static uintptr_t coroutine(size_t n) {
	struct coroutine *c = block(sizeof *c);
	c->stack = block(STACK_BYTES);
	c->first = (struct item *)list(n);
	(void)getcontext(&c->its);
	c->its.uc_stack.ss_sp = c->stack;
	c->its.uc_stack.ss_size = STACK_BYTES;
	makecontext(&c->its, run, 0);
	running = c;
	(void)swapcontext(&c->back, &c->its);
	memset(&c->back, 0, sizeof c->back); // registers of this function
	running = NULL;
	return (uintptr_t)c;
}

typedef uintptr_t structure(size_t n);
static structure *const structures[] = {list, ring, tree, intrusive, with_low_tags, with_high_tags,
		unaligned, shared, pool, coroutine, past_ends};
static size_t n_structures = sizeof structures / sizeof *structures;

// ---- owners: what is lost goes there, too, and is taken away again

// Nobody reads them: a compiler must not see that
uintptr_t globals[PARTS];
struct {
	char before;
	uintptr_t word;
} __attribute__((packed)) unaligned_globals[PARTS];
uintptr_t *table; // a block
static int epoll;

static uintptr_t letters[THREADS][SLOTS], taken_back[THREADS][SLOTS];
static size_t n_letters[THREADS];
__thread uintptr_t of_thread[SLOTS];
static pthread_key_t keys[SLOTS];
static pthread_barrier_t barrier;

static __attribute__((noinline)) void clear_stack(void) {
	volatile char all[STACK_BYTES / 2];
	memset((char *)all, 0, sizeof all);
}

static __attribute__((noinline)) void take_letters(int number) {
	for (int i = 0; i < SLOTS; i++) {
		if (i % 2) {
			(void)pthread_setspecific(keys[i], (void *)letters[number][i]);
		} else {
			of_thread[i] = letters[number][i];
		}
	}
	memset(letters[number], 0, sizeof letters[number]);
}

static __attribute__((noinline)) void give_back(int number) {
	for (int i = 0; i < SLOTS; i++) {
		if (taken_back[number][i] && i % 2) {
			(void)pthread_setspecific(keys[i], NULL);
		} else if (taken_back[number][i]) {
			of_thread[i] = 0;
		}
	}
}

static void *wait_with_variables(void *number) {
	take_letters((int)(intptr_t)number);
	give_back((int)(intptr_t)number);
	clear_stack();
	(void)pthread_barrier_wait(&barrier);
	pause();
	return NULL;
}

static void page_of(uintptr_t word, int flags, int protection) {
	uintptr_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
	page[below(PAGE / 8)] = word;
	(void)mprotect(page, PAGE, protection);
	if (fate == LOST) {
		(void)munmap(page, PAGE);
	}
}

static __attribute__((noinline)) void own(int part, uintptr_t word) {
	switch (below(9)) {
	case 0:
	case 1: globals[part] = fate == LOST ? 0 : word; break;
	case 2: unaligned_globals[part].word = fate == LOST ? 0 : word; break;
	case 3: table[part] = fate == LOST ? 0 : word; break;
	case 4: page_of(word, MAP_PRIVATE, PROT_READ); break;
	case 5: page_of(word, MAP_PRIVATE, PROT_NONE); break;
	case 6: page_of(word, MAP_SHARED, PROT_READ | PROT_WRITE); break;
	case 7: {
		struct epoll_event event = {.events = EPOLLIN, .data.u64 = word};
		int fd = eventfd(0, 0);
		(void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
		if (fate == LOST) {
			(void)epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event);
		}
		break;
	}
	default: {
		int thread = (int)below(THREADS);
		size_t slot = n_letters[thread];
		if (slot < SLOTS) {
			letters[thread][slot] = word;
			taken_back[thread][slot] = fate == LOST;
			n_letters[thread]++;
		} else {
			globals[part] = fate == LOST ? 0 : word;
		}
	}
	}
}

/** Freed memory that was full of pointers. */
static __attribute__((noinline)) void litter(void) {
	void **all[32];
	for (int i = 0; i < 32; i++) {
		all[i] = malloc(24 + below(400));
		for (int k = 0; k < 3; k++) {
			all[i][k] = (void *)globals[below(PARTS)];
		}
	}
	for (int i = 0; i < 32; i++) {
		free(all[i]);
	}
}

uintptr_t hidden_word;

/** Each points to the next by an XOR. */
static __attribute__((noinline)) void hide(void) {
	fate = HIDDEN;
	for (int i = 0; i < 3; i++) {
		uintptr_t *next = block(64);
		next[1] = hidden_word;
		hidden_word = (uintptr_t)next ^ 0x5555555555555555;
	}
}

static __attribute__((noinline)) void make_all(void) {
	for (int part = 0; part < PARTS; part++) {
		fate = below(3) == 0 ? LOST : HELD;
		own(part, structures[below(n_structures)](1 + below(60)));
		litter();
	}
	hide();
	fate = HELD;
}

static __attribute__((noinline)) void cut_all(void) {
	for (size_t i = 0; i < n_cuts; i++) {
		*cuts[i] = NULL;
	}
	free(cuts);
	cuts = NULL;
}

int main(int argc, char **argv) {
	state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	// Allocators without headers place a block where another ends, and the end is that block's
	n_structures -= argc > 2;
	cuts = malloc(PARTS * 64 * sizeof *cuts);
	table = block(PARTS * sizeof *table);
	epoll = epoll_create1(0);
	for (int i = 0; i < SLOTS; i++) {
		(void)pthread_key_create(&keys[i], NULL);
	}
	(void)pthread_barrier_init(&barrier, NULL, THREADS + 1);
	make_all();
	cut_all();
	for (intptr_t i = 0; i < THREADS; i++) {
		pthread_t thread;
		(void)pthread_create(&thread, NULL, wait_with_variables, (void *)i);
	}
	(void)pthread_barrier_wait(&barrier);
	printf("held %zu lost %zu hidden %zu\n", n_blocks[HELD], n_blocks[LOST], n_blocks[HIDDEN]);
	clear_stack();
	return 0;
}
