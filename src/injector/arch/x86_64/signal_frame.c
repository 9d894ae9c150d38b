// SPDX-License-Identifier: MIT

/*
 * The way back of a thread that was sent on an errand, should its tracer be killed: a frame as the kernel
 * makes one for a signal handler, which rt_sigreturn takes all registers from.
 */

#include "injector/tracee/tracee.h"
#include "injector/tracee/wait.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/ucontext.h>
#include <sys/uio.h>

// What the kernel does with a system call that was interrupted (linux/errno.h)
enum {
	RESTART_SYS = 512,
	RESTART_NO_INTERRUPT = 513,
	RESTART_NO_HANDLER = 514,
	RESTART_BLOCK = 516,
};

/** Behind the registers, on a boundary of 64 bytes: what the vector registers hold (asm/sigcontext.h). */
enum {
	VECTORS_AT = 1024,
	VECTORS_MAX = ERRAND_BYTES - ERRAND_FRAME_AT - VECTORS_AT - 64,
	SOFTWARE_AT = 464,
	MAGIC_FIRST = 0x46505853,
	MAGIC_LAST = 0x46505845,
};
struct software {
	uint32_t magic, extended_bytes;
	uint64_t features;
	uint32_t bytes;
};

/** What the kernel would do on its way to user mode; a call that it cannot begin anew was interrupted. */
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

static void put_registers(ucontext_t *to, const struct user_regs_struct *r) {
	const uint64_t values[] = {r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rdi,
			r->rsi, r->rbp, r->rbx, r->rdx, r->rax, r->rcx, r->rsp, r->rip, r->eflags,
			r->cs | r->ss << 48};
	memcpy(to->uc_mcontext.gregs, values, sizeof values);
}

bool tracee_write_frame(const struct tracee *t, const struct tracee_thread *thread, uint64_t mask,
		uint64_t at, struct err *err) {
	enum { HAS_VECTORS = 1, HAS_SS = 2, TAKE_SS = 4, NO_SUCH_MODE = 7 };
	_Alignas(64) uint8_t bytes[VECTORS_AT + VECTORS_MAX + 4] = {0};
	uint8_t *vectors = bytes + VECTORS_AT;
	struct iovec part = {vectors, VECTORS_MAX};
	ucontext_t *context = (ucontext_t *)(void *)bytes;
	if (ptrace(PTRACE_GETREGSET, thread->tid, NT_X86_XSTATE, &part) != 0) {
		return err_system(err, errno, "cannot read the vector registers of thread %d",
				(int)thread->tid);
	}
	struct user_regs_struct regs = thread->regs;
	restart(&regs);
	put_registers(context, &regs);
	context->uc_flags = HAS_VECTORS | HAS_SS | TAKE_SS;
	context->uc_stack.ss_flags = NO_SUCH_MODE; // refused, so the thread's own stays
	context->uc_mcontext.fpregs = (fpregset_t)(at + VECTORS_AT);
	memcpy(&context->uc_sigmask, &mask, sizeof mask);

	struct software s = {.magic = MAGIC_FIRST,
			.extended_bytes = (uint32_t)part.iov_len + 4,
			.bytes = (uint32_t)part.iov_len};
	const uint32_t last = MAGIC_LAST;
	memcpy(&s.features, vectors + SOFTWARE_AT, sizeof s.features); // as ptrace tells them
	memcpy(vectors + SOFTWARE_AT, &s, sizeof s);
	memcpy(vectors + part.iov_len, &last, sizeof last);
	return tracee_write(t, at, bytes, VECTORS_AT + part.iov_len + sizeof last, err);
}
