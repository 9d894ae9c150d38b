// SPDX-License-Identifier: MIT

/**
 * What the functions of a random program are put together from: a place to keep blocks, ways to
 * leave a function that are no return, coroutines, signals, threads. Needs shadow.h.
 */
#pragma once

#include "shadow.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { N_SLOTS = 48, N_SHARED = 32, N_COROUTINES = 4, STACK_BYTES = 128 << 10 };
enum kind { FREED_BY_FREE, FREED_BY_DELETE, FREED_BY_DELETE_ARRAY, FREED_BY_DELETE_ALIGNED };

struct here;

struct slot {
	void *p;
	enum kind kind;
};

struct coroutine {
	void *sp, *stack;
	void (*body)(struct here *);
	uint32_t node;
	bool is_done;
};

/** What a thread has at hand. */
struct here {
	struct slot slots[N_SLOTS];
	struct coroutine coroutines[N_COROUTINES], *running;
	uint64_t random, result;
	int64_t budget;
	sigjmp_buf *jump; // where a longjmp may go to
	int tries;        // try blocks that an exception may go to
	uintptr_t thrown;
	void *resumer_sp;
	int in_handler;
};

static struct slot shared[N_SHARED];
static __thread struct here *thread_here;

static NOINLINE struct here *here_of_thread(void) {
	return thread_here;
}

static uint64_t some(struct here *h, uint64_t n) {
	h->random ^= h->random << 13;
	h->random ^= h->random >> 7;
	h->random ^= h->random << 17;
	return (h->random * 0x2545f4914f6cdd1dull >> 16) % n;
}

/** Most blocks are small, few are large. */
static size_t some_size(struct here *h) {
	uint64_t class_ = some(h, 100);
	return class_ < 60 ? some(h, 200) : class_ < 95 ? some(h, 20000) : some(h, 300000);
}

// ---- keeping blocks

static void let_go(struct slot slot) {
	switch (slot.kind) {
	case FREED_BY_FREE: w_free(slot.p); break;
#ifdef __cplusplus
	case FREED_BY_DELETE: w_delete(slot.p); break;
	case FREED_BY_DELETE_ARRAY: w_delete_array(slot.p); break;
	case FREED_BY_DELETE_ALIGNED: w_delete_aligned(slot.p); break;
#endif
	default: abort();
	}
}

/** Keep a block in place of another, which is freed. */
static void put(struct here *h, enum kind kind, void *p) {
	struct slot *slot = &h->slots[some(h, N_SLOTS)], old = *slot;
	slot->p = p, slot->kind = kind;
	h->result = h->result * 31 + kind;
	if (old.p) {
		let_go(old);
	}
}

static void drop(struct here *h, unsigned n) {
	while (n--) {
		struct slot *slot = &h->slots[some(h, N_SLOTS)], old = *slot;
		slot->p = NULL;
		if (old.p) {
			let_go(old);
		}
	}
}

/** Give a block to whoever comes next, and free what another thread gave. */
static void share(struct here *h) {
	struct slot *slot = &h->slots[some(h, N_SLOTS)];
	uint64_t i = some(h, N_SHARED);
	if (!slot->p || slot->kind != FREED_BY_FREE) {
		return;
	}
	if (!ORDERED) { // so that it is not temporary, whoever frees it when
		w_free(w_malloc(16));
	}
	void *old = __atomic_exchange_n(&shared[i].p, slot->p, __ATOMIC_ACQ_REL);
	slot->p = NULL;
	w_free(old);
}

// ---- leaving functions by other ways

static NOINLINE void go_back(struct here *h) {
	if (h->jump && some(h, 3) == 0) {
		siglongjmp(*h->jump, 1);
	}
}

// ---- coroutines, by hand: musl has no ucontext

__attribute__((naked, noinline)) static void switch_stacks(void **from, void *to) {
	__asm__("endbr64\n\t"
			"pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
			"movq %rsp, (%rdi)\n\t"
			"movq %rsi, %rsp\n\t"
			"popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\t"
			"ret");
}

/** Its return address is 0: here the stack of a coroutine begins. */
__attribute__((used)) static void coroutine_begin(void) {
	struct here *h = here_of_thread();
	struct coroutine *c = h->running;
	shadow_back(c->node);
	c->body(h);
	c->is_done = true;
	void *nowhere;
	switch_stacks(&nowhere, h->resumer_sp);
	abort();
}

/** Go on with a coroutine until it yields or is done. Not from within another. */
static NOINLINE void resume(struct here *h, struct coroutine *c) {
	sigjmp_buf *jump = h->jump;
	int tries = h->tries;
	uint32_t node = shadow_here();
	h->jump = NULL, h->tries = 0;
	h->running = c;
	switch_stacks(&h->resumer_sp, c->sp);
	h->running = NULL;
	h->jump = jump, h->tries = tries;
	shadow_back(node);
	if (c->is_done) {
		w_free(c->stack);
		c->stack = NULL;
	}
}

static NOINLINE void yield(struct here *h) {
	struct coroutine *c = h->running;
	if (c && !h->tries && !h->jump && !h->in_handler && shadow_depth == 0) {
		uint32_t node = shadow_here();
		switch_stacks(&c->sp, h->resumer_sp);
		shadow_back(node);
	}
}

/** Go on with one, which is begun if it is not there. */
static void some_coroutine(struct here *h, void (*body)(struct here *)) {
	struct coroutine *c = &h->coroutines[some(h, N_COROUTINES)];
	if (h->running || h->in_handler) {
		return;
	}
	if (!c->stack) {
		c->stack = w_malloc(STACK_BYTES);
		void **top = (void **)(((uintptr_t)c->stack + STACK_BYTES) & ~(uintptr_t)63);
		*--top = NULL; // where coroutine_begin() would return to
		*--top = (void *)coroutine_begin;
		top -= 6; // rbp, rbx, r12 to r15
		memset(top, 0, 6 * sizeof(*top));
		c->sp = top, c->body = body, c->node = shadow_root(), c->is_done = false;
	}
	resume(h, c);
}

// ---- signals

static volatile sig_atomic_t n_alarms;

/** What a handler must not do is what would leave it by the wrong way. */
static void in_handler(struct here *h, bool may_jump, void (*body)(struct here *)) {
	sigjmp_buf *jump = h->jump;
	int tries = h->tries;
	h->tries = 0;
	h->jump = may_jump ? jump : NULL;
	h->in_handler++;
	body(h);
	h->in_handler--;
	h->jump = jump, h->tries = tries;
}

static void handle(int number, void (*handler)(int), bool on_own_stack) {
	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = on_own_stack ? SA_ONSTACK : 0;
	sigaction(number, &action, NULL);
}

static void let_alarms(int how) {
	sigset_t alarm_;
	sigemptyset(&alarm_);
	sigaddset(&alarm_, SIGALRM);
	pthread_sigmask(how, &alarm_, NULL);
}

/** A signal at any instruction of the loop. Of the thread alone that has no others beside it. */
#define AWAIT_ALARM()                                \
	do {                                             \
		volatile double x_ = 1;                      \
		sig_atomic_t n_ = n_alarms;                  \
		struct itimerval soon_ = {{0, 0}, {0, 300}}; \
		setitimer(ITIMER_REAL, &soon_, NULL);        \
		let_alarms(SIG_UNBLOCK);                     \
		while (n_alarms == n_) {                     \
			x_ = x_ * 1.0001 + 1;                    \
		}                                            \
		let_alarms(SIG_BLOCK);                       \
	} while (0)

// ---- threads

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	struct here here;
	const char *name;
	void (*body)(struct here *);
	char *signal_stack;
};

static void start_here(struct here *h, uint64_t seed, int64_t budget) {
	memset(h, 0, sizeof(*h));
	h->random = seed * 0x9e3779b97f4a7c15u + 1;
	h->budget = budget;
	thread_here = h;
}

/** Nothing but to be there: the C library keeps the memory of as many threads for later. */
static void *warm_up(void *barrier) {
	pthread_barrier_wait((pthread_barrier_t *)barrier);
	return NULL;
}

static pthread_attr_t small_stacks;

static void keep_threads_warm(unsigned n) {
	pthread_t threads[64];
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, n);
	pthread_attr_init(&small_stacks);
	pthread_attr_setstacksize(&small_stacks, 256 << 10);
	for (unsigned i = 0; i < n; i++) {
		if (pthread_create(&threads[i], &small_stacks, warm_up, &barrier) != 0) {
			abort();
		}
	}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
	}
	pthread_barrier_destroy(&barrier);
}

#ifdef __cplusplus
/** The unwinder of static programs sorts its tables in memory that it allocates, the first time. */
static NOINLINE __attribute__((unused)) void warm_up_exceptions(void) {
	try {
		throw 1;
	} catch (int) {}
}
#endif

static void start_worker(struct worker *w, void *(*entry)(void *)) {
	if (pthread_create(&w->thread, &small_stacks, entry, w) != 0) {
		abort();
	}
}

// ---- the end

static void say_result(const char *who, struct here *h) {
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %016llx %016llx\n", who, (unsigned long long)h->random,
			(unsigned long long)h->result);
	shadow_overflows += write(1, line, (size_t)n) != n;
}

/** Let the peak stand above all that comes by so much that what libraries take does not matter. */
static void raise_peak(void) {
	w_free(w_malloc(1 << 20));
}
