// SPDX-License-Identifier: MIT

// Filters made at random are run by us and by the kernel, in a child that they hold for one call.

#include "injector/tracee/tracee.h"

#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { N_FILTERS = 300, BODY = 40, ERRORS = 4000 };

static uint32_t random_below(uint32_t n) {
	static uint64_t state = 1;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/** Not what depends on the place of the call, and with all jumps inside of `rest` instructions. */
static struct sock_filter random_step(uint32_t rest) {
	static const uint16_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR,
			BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG};
	static const uint16_t jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	static const uint16_t fields[] = {0, 4, 16, 20, 24, 28, 56, 60};
	uint32_t k = random_below(2) ? random_below(8) : random_below(UINT32_MAX);
	uint16_t from = random_below(2) ? BPF_X : BPF_K;
	switch (random_below(8)) {
	case 0:
	case 1: return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, fields[random_below(8)]);
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_MISC | (random_below(2) ? BPF_TAX : BPF_TXA), 0);
	case 3:
		return (struct sock_filter)BPF_STMT(random_below(2) ? BPF_LD | BPF_IMM : BPF_LDX | BPF_IMM,
				k);
	case 4: {
		uint16_t what = operations[random_below(10)];
		bool is_shift = what == BPF_LSH || what == BPF_RSH;
		// By nothing and by more than there are bits the kernel refuses, or is not the same everywhere
		k = is_shift ? k % 32 : what == BPF_DIV ? k | 1 : k;
		from = is_shift || what == BPF_DIV || what == BPF_NEG ? BPF_K : from;
		return (struct sock_filter)BPF_STMT((uint16_t)(BPF_ALU | what | from), k);
	}
	case 5: return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, random_below(rest), 0, 0);
	default:
		return (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | jumps[random_below(4)] | from), k,
				(uint8_t)random_below(rest), (uint8_t)random_below(rest));
	}
}

/** Of one call, by its number; all others pass. In the end A becomes an error. */
static size_t make(struct sock_filter *f, int number) {
	size_t n = 0;
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 1, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_ST, 3);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_MEM, 3);
	for (uint32_t i = 0; i < BODY; i++) {
		f[n++] = random_below(24) == 0 ? (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
												 SECCOMP_RET_ERRNO | (1 + random_below(ERRORS)))
									   : random_step(BODY - i);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x7ff);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO | 0x800);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0);
	return n;
}

/** What the kernel makes of it, as an error. In a child, which keeps the filter to its end. */
static int ask_kernel(struct sock_filter *f, size_t n, const struct seccomp_data *call) {
	int *error = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(error != MAP_FAILED);
	*error = -1;
	pid_t child = fork();
	if (child == 0) {
		const struct sock_fprog program = {(unsigned short)n, f};
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
				prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) {
			const uint64_t *a = (const uint64_t *)call->args;
			long result = syscall(call->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
			__atomic_store_n(error, result < 0 ? errno : 0, __ATOMIC_SEQ_CST);
		}
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
	int got = *error;
	(void)munmap(error, 4096);
	return got;
}

static void test_answers_as_the_kernel_does(void **state) {
	(void)state;
	struct seccomp_data call = {.nr = SYS_getppid, .arch = AUDIT_ARCH_X86_64};
	for (unsigned i = 0; i < N_FILTERS; i++) {
		struct sock_filter f[BODY + 16];
		size_t n = make(f, call.nr);
		for (unsigned k = 0; k < 6; k++) {
			call.args[k] = random_below(3) ? random_below(9)
										   : (uint64_t)random_below(UINT32_MAX) << 9;
		}
		uint32_t answer = sandbox_answer(f, n, &call);
		assert_int_equal(answer & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
		assert_int_equal(answer & SECCOMP_RET_DATA, ask_kernel(f, n, &call));
	}
}

static void test_what_is_not_understood_kills(void **state) {
	(void)state;
	const struct seccomp_data call = {.nr = 1};
	const struct sock_filter filters[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof call), // behind the end
			BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0),
			BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS),
			BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0),
			BPF_STMT(BPF_LD | BPF_IMM, 0), // no answer at all
			BPF_JUMP(BPF_JMP | BPF_JA, UINT32_MAX, 0, 0),
	};
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		assert_int_equal(sandbox_answer(&filters[i], 1, &call), SECCOMP_RET_KILL_PROCESS);
	}
	assert_int_equal(sandbox_answer(NULL, 0, &call), SECCOMP_RET_KILL_PROCESS);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_answers_as_the_kernel_does),
			cmocka_unit_test(test_what_is_not_understood_kills),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
