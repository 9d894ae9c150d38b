// SPDX-License-Identifier: MIT
/*
 * Asks the filters of a sandbox: small programs of classic BPF, which the kernel gives to a tracer.
 * A filter reads a call's number, machine and arguments, and returns an action. The strictest
 * answer counts, so every filter must agree.
 */
#include "injector/tracee/tracee.h"
#include "machine.h"
#include "regs.h"

#include <sys/socket.h>

enum { INSTRUCTIONS_MAX = 4096, FILTERS_MAX = 64 };

// ---- running a filter

struct run {
	uint32_t a, x, words[BPF_MEMWORDS];
	const struct seccomp_data *call;
	bool has_failed;
};

static uint32_t load(struct run *m, const struct sock_filter *i) {
	uint32_t word = 0;
	switch (BPF_MODE(i->code)) {
	case BPF_IMM: return i->k;
	case BPF_LEN: return sizeof *m->call;
	case BPF_MEM: m->has_failed |= i->k >= BPF_MEMWORDS; return m->words[i->k % BPF_MEMWORDS];
	case BPF_ABS:
		m->has_failed |= i->k % 4 != 0 || i->k > sizeof *m->call - 4;
		if (!m->has_failed) {
			memcpy(&word, (const uint8_t *)m->call + i->k, sizeof word);
		}
		return word;
	default: m->has_failed = true; return 0;
	}
}

static uint32_t compute(struct run *m, const struct sock_filter *i) {
	uint32_t by = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
	switch (BPF_OP(i->code)) {
	case BPF_ADD: return m->a + by;
	case BPF_SUB: return m->a - by;
	case BPF_MUL: return m->a * by;
	case BPF_DIV: return by ? m->a / by : (m->has_failed = true);
	case BPF_AND: return m->a & by;
	case BPF_OR: return m->a | by;
	case BPF_XOR: return m->a ^ by;
	case BPF_LSH: return by < 32 ? m->a << by : 0;
	case BPF_RSH: return by < 32 ? m->a >> by : 0;
	case BPF_NEG: return -m->a;
	default: m->has_failed = true; return 0;
	}
}

/** The number of instructions to skip. */
static uint32_t jump(struct run *m, const struct sock_filter *i) {
	uint32_t with = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
	switch (BPF_OP(i->code)) {
	case BPF_JA: return i->k;
	case BPF_JEQ: return m->a == with ? i->jt : i->jf;
	case BPF_JGT: return m->a > with ? i->jt : i->jf;
	case BPF_JGE: return m->a >= with ? i->jt : i->jf;
	case BPF_JSET: return m->a & with ? i->jt : i->jf;
	default: m->has_failed = true; return 0;
	}
}

uint32_t sandbox_answer(const struct sock_filter *code, size_t n, const struct seccomp_data *call) {
	struct run m = {.call = call};
	for (size_t at = 0; at < n && !m.has_failed; at++) {
		const struct sock_filter *i = &code[at];
		switch (BPF_CLASS(i->code)) {
		case BPF_LD: m.a = load(&m, i); break;
		case BPF_LDX: m.x = load(&m, i); break;
		case BPF_ST: m.words[i->k % BPF_MEMWORDS] = m.a; break;
		case BPF_STX: m.words[i->k % BPF_MEMWORDS] = m.x; break;
		case BPF_ALU: m.a = compute(&m, i); break;
		case BPF_JMP: at += jump(&m, i); break;
		case BPF_RET: return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		case BPF_MISC:
			m.a = BPF_MISCOP(i->code) == BPF_TXA ? m.x : m.a;
			m.x = BPF_MISCOP(i->code) == BPF_TAX ? m.a : m.x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

// ---- the calls of a recording

static const struct {
	const char *name;
	int number;
	uint64_t arguments[6];
} calls[] = {
		// On errands
		{"mmap", SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1ull, 0}},
		{"mprotect", SYS_mprotect, {4096, 4096, PROT_READ | PROT_WRITE}},
		{"munmap", SYS_munmap, {4096, 4096}},
		{"madvise", SYS_madvise, {4096, 4096, MADV_DONTNEED}},
		{"memfd_create", SYS_memfd_create, {4096, MFD_CLOEXEC | MFD_ALLOW_SEALING}},
		{"clone", SYS_clone, {0}},
		{"wait4", SYS_wait4, {1, 0, 0x40000000}},
		{"ppoll", SYS_ppoll, {0}},
		{"getpid", SYS_getpid, {0}},
		{"exit_group", SYS_exit_group, {0}},
		{"rt_sigreturn", SYS_rt_sigreturn, {0}},
		// By the recorder
		{"mmap", SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0}},
		{"mremap", SYS_mremap, {4096, 4096, 8192, 0}},
		{"close", SYS_close, {3}},
		{"fstat", SYS_fstat, {3, 4096}},
		{"openat", SYS_openat, {(uint64_t)-100, 4096, 0}},
		{"openat", SYS_openat, {(uint64_t)-100, 4096, O_RDWR | O_CLOEXEC}},
		{"read", SYS_read, {3, 4096, 100}},
		{"readlinkat", SYS_readlinkat, {(uint64_t)-100, 4096, 4096, 100}},
		{"futex", SYS_futex, {4096, 0, 0}},
		{"futex", SYS_futex, {4096, 1, 1}},
		{"gettid", SYS_gettid, {0}},
		{"clock_gettime", SYS_clock_gettime, {1, 4096}},
		{"rt_sigprocmask", SYS_rt_sigprocmask, {0, 4096, 4096, 8}},
		{"sigaltstack", SYS_sigaltstack, {0, 4096}},
		{"prlimit64", SYS_prlimit64, {0, 9, 0, 4096}},
		// By the recorder in a tree of processes
		{"socket", SYS_socket, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0}},
		{"setsockopt", SYS_setsockopt, {3, SOL_SOCKET, SO_RCVTIMEO, 4096, 16}},
		{"connect", SYS_connect, {3, 4096, 45}},
		{"sendto", SYS_sendto, {3, 4096, 12, MSG_NOSIGNAL, 0, 0}},
		{"recvmsg", SYS_recvmsg, {3, 4096, MSG_CMSG_CLOEXEC}},
};
enum { CALLS_IN_TREE = 5 }; // the last

/** The first call that the filter does not let pass; NULL: all pass. */
static const char *stops_us(const struct sock_filter *code, size_t n, uint64_t pc, bool asks_us) {
	for (size_t i = 0; i < N_OF(calls) - (asks_us ? 0 : CALLS_IN_TREE); i++) {
		struct seccomp_data call = {.nr = calls[i].number,
				.arch = MACHINE_AUDIT,
				.instruction_pointer = pc};
		memcpy(call.args, calls[i].arguments, sizeof call.args);
		uint32_t action = sandbox_answer(code, n, &call) & SECCOMP_RET_ACTION_FULL;
		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG &&
				action != SECCOMP_RET_ERRNO) {
			return calls[i].name;
		}
	}
	return NULL;
}

/** Threads may have no filter. A kernel that gives out none returns the same error. */
static bool has_filter(const struct tracee_thread *thread) {
	char text[4096];
	return !task_read(thread, "status", text, sizeof text) ||
			process_status_number(text, "Seccomp", 10) != SECCOMP_MODE_DISABLED;
}

static bool thread_is_let(const struct tracee *t, const struct tracee_thread *thread,
		struct sock_filter *code, bool asks_us, struct err *err) {
	for (unsigned i = 0; i < FILTERS_MAX && has_filter(thread); i++) {
		long n = ptrace(PTRACE_SECCOMP_GET_FILTER, thread->tid, (void *)(uintptr_t)i, NULL);
		if (n < 0 && errno == ENOENT) {
			return true; // that was the last
		}
		if (n < 0 || n > INSTRUCTIONS_MAX ||
				ptrace(PTRACE_SECCOMP_GET_FILTER, thread->tid, (void *)(uintptr_t)i, code) != n) {
			return err_unsupported(err,
					"process %d is in a sandbox (seccomp) whose filter cannot be read (%s); try "
					"as root, outside any sandbox, or start it under heaptrack, or without the "
					"sandbox",
					(int)t->pid, n < 0 ? strerror(errno) : "it is too long");
		}
		const char *name = stops_us(code, (size_t)n, regs_pc(&thread->regs), asks_us);
		if (name) {
			return err_unsupported(err,
					"process %d is in a sandbox (seccomp) whose filter does not allow %s, which "
					"recording needs; start it under heaptrack, or without the sandbox",
					(int)t->pid, name);
		}
	}
	return !has_filter(thread) ||
			err_unsupported(err, "process %d has too many seccomp filters", (int)t->pid);
}

bool sandbox_lets_us(const struct tracee *t, bool asks_us, struct err *err) {
	FREED struct sock_filter *code = calloc(INSTRUCTIONS_MAX, sizeof *code);
	bool ok = code || err_memory(err);
	return ok && ALL(i, t->threads.n, thread_is_let(t, &t->threads.items[i], code, asks_us, err));
}
