// SPDX-License-Identifier: MIT
// Holds a block in each of the ways that programs have, and loses some: each is allocated by a
// function named after how. Other threads still wait when main returns.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 200 };

#define ALLOCATOR(name)                                         \
	__attribute__((noinline)) static void *name(size_t bytes) { \
		void *block = malloc(bytes);                            \
		__asm__ volatile("" : "+r"(block));                     \
		return block ? memset(block, 0, bytes) : block;         \
	}

// Held
ALLOCATOR(held_by_global)
ALLOCATOR(held_by_list)
ALLOCATOR(held_inside)
ALLOCATOR(held_past_end)
ALLOCATOR(held_by_usual_offset)
ALLOCATOR(held_by_tls)
ALLOCATOR(held_by_key)
ALLOCATOR(held_by_stack)
ALLOCATOR(held_by_register)
ALLOCATOR(held_by_vector)
ALLOCATOR(held_by_mapping)
ALLOCATOR(held_by_protected)
ALLOCATOR(held_by_read_only)
ALLOCATOR(held_by_shared)
ALLOCATOR(held_by_upper_tag)
ALLOCATOR(held_by_lower_tag)
ALLOCATOR(held_by_unaligned)
ALLOCATOR(held_by_epoll)
ALLOCATOR(held_by_coroutine)
// Not held
ALLOCATOR(lost)
ALLOCATOR(lost_owner)
ALLOCATOR(lost_owned)
ALLOCATOR(lost_cycle)
ALLOCATOR(lost_by_stale_frame)
// Held by what nobody can see
ALLOCATOR(hidden_by_xor)
ALLOCATOR(hidden_by_shift)

// Nobody reads them: a compiler must not see that
void *global, *usual[8], *upper, *lower;
char *inside, *past;
struct {
	void *first;
} * list;
struct {
	char byte;
	void *pointer;
} __attribute__((packed)) unaligned;
uintptr_t xored;
uint32_t shifted;
__thread void *of_thread;
static pthread_key_t key;
static pthread_barrier_t ready;

/** All variables of the thread that hold something, and a wait that never ends. */
static void *wait_with_variables(void *unused) {
	void *volatile local = held_by_stack(BYTES);
	of_thread = held_by_tls(BYTES);
	(void)pthread_setspecific(key, held_by_key(BYTES));
	(void)pthread_barrier_wait(&ready);
	pause();
	(void)local;
	return unused;
}

/** A word that is in a general register alone, and one in a vector register. */
static void *wait_with_registers(void *unused) {
	void *general = held_by_register(BYTES), *vector = held_by_vector(BYTES);
	(void)pthread_barrier_wait(&ready);
	__asm__ volatile("movq %[vector], %%xmm7\n"
					 "mov %[general], %%r15\n"
					 "xor %[vector], %[vector]\n"
					 "xor %[general], %[general]\n"
					 "mov %[pause], %%eax\n"
					 "syscall\n"
					 : [general] "+r"(general), [vector] "+r"(vector)
					 : [pause] "i"(SYS_pause)
					 : "rax", "rcx", "r11", "r15", "xmm7", "memory");
	return unused;
}

static void *page(int flags, void *content) {
	void **at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
	at[5] = content;
	return at;
}

__attribute__((noinline)) static void hold_in_memory(void) {
	global = held_by_global(BYTES);
	list = held_by_list(BYTES);
	list->first = held_by_list(BYTES);
	inside = (char *)held_inside(BYTES) + 100;
	past = (char *)held_past_end(BYTES) + BYTES;
	for (int i = 0; i < 8; i++) {
		usual[i] = (char *)held_by_usual_offset(BYTES) + 16;
	}
	(void)page(MAP_PRIVATE, held_by_mapping(BYTES));
	(void)page(MAP_SHARED, held_by_shared(BYTES));
	(void)mprotect(page(MAP_PRIVATE, held_by_protected(BYTES)), 4096, PROT_NONE);
	(void)mprotect(page(MAP_PRIVATE, held_by_read_only(BYTES)), 4096, PROT_READ);
	upper = (void *)((uintptr_t)held_by_upper_tag(BYTES) | (uintptr_t)0x1234 << 48);
	lower = (void *)((uintptr_t)held_by_lower_tag(BYTES) | 5);
	unaligned.pointer = held_by_unaligned(BYTES);
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
			-1, 0);
	*(void **)(void *)(stack + 60000) = held_by_coroutine(BYTES);
	int epoll = epoll_create1(0), fd = eventfd(0, 0);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = held_by_epoll(BYTES)};
	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

__attribute__((noinline)) static void lose(void) {
	for (int i = 0; i < 8; i++) {
		(void)lost(BYTES);
	}
	for (int i = 0; i < 3; i++) {
		void **owner = lost_owner(BYTES);
		for (int k = 0; k < 3; k++) {
			owner[k] = lost_owned(BYTES);
		}
	}
	void **a = lost_cycle(BYTES), **b = lost_cycle(BYTES), **c = lost_cycle(BYTES);
	*a = b;
	*b = c;
	*c = a;
	xored = (uintptr_t)hidden_by_xor(BYTES) ^ 0x5555555555555555;
	shifted = (uint32_t)((uintptr_t)hidden_by_shift(BYTES) >> 4);
}

/** Its frame is gone when main returns. */
__attribute__((noinline)) static void lose_in_frame(int depth) {
	void *volatile local = lost_by_stale_frame(BYTES);
	if (depth > 0) {
		lose_in_frame(depth - 1);
	}
	(void)local;
}

/** What calls have left below this frame. */
__attribute__((noinline)) static void clear_stack(void) {
	volatile char below[65536];
	memset((char *)below, 0, sizeof below);
}

int main(void) {
	pthread_t thread;
	(void)pthread_key_create(&key, NULL);
	(void)pthread_barrier_init(&ready, NULL, 4);
	hold_in_memory();
	lose();
	lose_in_frame(4);
	for (int i = 0; i < 3; i++) {
		(void)pthread_create(&thread, NULL, i ? wait_with_variables : wait_with_registers, NULL);
	}
	(void)pthread_barrier_wait(&ready);
	usleep(50000); // until they wait
	clear_stack();
	return 0;
}
