// SPDX-License-Identifier: MIT
/*
 * The frame that the kernel makes for a signal handler. rt_sigreturn restores all registers from
 * it, so a thread on an errand finds its way back even if its tracer was killed.
 */
#include "regs.h"

#include <elf.h>
#include <sys/ucontext.h>
#include <sys/uio.h>

// What the kernel does with an interrupted system call (linux/errno.h)
enum {
	RESTART_SYS = 512,
	RESTART_NO_INTERRUPT = 513,
	RESTART_NO_HANDLER = 514,
	RESTART_BLOCK = 516,
};

/** After the registers, 64-byte aligned: the vector registers (asm/sigcontext.h). */
enum {
	VECTORS_AT = 1024,
	VECTORS_MAX = ERRAND_BYTES - ERRAND_FRAME_AT - VECTORS_AT - 64, // the rest, and the last magic
	SOFTWARE_AT = 464,
	MAGIC_FIRST = 0x46505853,
	MAGIC_LAST = 0x46505845,
};
struct software {
	uint32_t magic, extended_bytes;
	uint64_t features;
	uint32_t bytes;
};

/** As the kernel does before it returns to user mode. A call that cannot restart returns EINTR. */
static void restart(struct user_regs_struct *regs) {
	if ((int64_t)regs->orig_rax < 0) {
		return;
	}
	switch (-(int64_t)regs->rax) {
	case RESTART_SYS:
	case RESTART_NO_INTERRUPT:
	case RESTART_NO_HANDLER:
		regs->rax = regs->orig_rax;
		regs->rip -= 2;
		break;
	case RESTART_BLOCK: regs->rax = (uint64_t)-EINTR; break;
	default: break;
	}
}

bool regs_put_frame(struct signal_frame *out, pid_t tid, const struct user_regs_struct *regs,
		uint64_t mask, uint64_t at) {
	enum { HAS_VECTORS = 1, HAS_SS = 2, TAKE_SS = 4, NO_SUCH_MODE = 7 };
	*out = (struct signal_frame){0};
	uint8_t *vectors = out->bytes + VECTORS_AT;
	struct iovec part = {vectors, VECTORS_MAX};
	ucontext_t *context = (ucontext_t *)(void *)out->bytes;
	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &part) != 0) {
		return false;
	}
	struct user_regs_struct r = *regs;
	restart(&r);
	const uint64_t values[] = {r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rdi, r.rsi,
			r.rbp, r.rbx, r.rdx, r.rax, r.rcx, r.rsp, r.rip, r.eflags, r.cs | r.ss << 48};
	memcpy(context->uc_mcontext.gregs, values, sizeof values);
	context->uc_flags = HAS_VECTORS | HAS_SS | TAKE_SS;
	context->uc_stack.ss_flags = NO_SUCH_MODE; // refused, so the thread's own stays
	context->uc_mcontext.fpregs = (fpregset_t)(at + VECTORS_AT);
	memcpy(&context->uc_sigmask, &mask, sizeof mask);

	struct software s = {.magic = MAGIC_FIRST,
			.extended_bytes = (uint32_t)part.iov_len + 4,
			.bytes = (uint32_t)part.iov_len};
	const uint32_t last = MAGIC_LAST;
	memcpy(&s.features, vectors + SOFTWARE_AT, sizeof s.features); // as ptrace gives them
	memcpy(vectors + SOFTWARE_AT, &s, sizeof s);
	memcpy(vectors + part.iov_len, &last, sizeof last);
	out->n_bytes = VECTORS_AT + part.iov_len + sizeof last;
	return true;
}
