// SPDX-License-Identifier: MIT

/* A system call's number and result are in rax; orig_rax is the number while the call is made. */

#include "injector/arch/regs.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

bool regs_get(pid_t tid, struct user_regs_struct *regs) {
	return ptrace(PTRACE_GETREGS, tid, 0, regs) == 0;
}

bool regs_set(pid_t tid, const struct user_regs_struct *regs) {
	return ptrace(PTRACE_SETREGS, tid, 0, regs) == 0;
}

uint64_t regs_pc(const struct user_regs_struct *regs) {
	return regs->rip;
}

void regs_set_pc(struct user_regs_struct *regs, uint64_t pc) {
	regs->rip = pc;
}

uint64_t regs_sp(const struct user_regs_struct *regs) {
	return regs->rsp;
}

uint64_t regs_thread_key(const struct user_regs_struct *regs) {
	return regs->fs_base;
}

void regs_set_call(struct user_regs_struct *regs, uint64_t pc, long number,
		const uint64_t arguments[6]) {
	regs->rip = pc;
	regs->rax = (uint64_t)number;
	regs->orig_rax = UINT64_MAX; // else the kernel might restart the old system call
	regs->rdi = arguments[0];
	regs->rsi = arguments[1];
	regs->rdx = arguments[2];
	regs->r10 = arguments[3];
	regs->r8 = arguments[4];
	regs->r9 = arguments[5];
}

int64_t regs_result(const struct user_regs_struct *regs) {
	return (int64_t)regs->rax;
}

void regs_set_errand(struct user_regs_struct *regs, uint64_t errand, uint64_t stack_top) {
	enum { DIRECTION = 0x400 }; // of string instructions: functions expect it to be clear
	regs->rbx = errand;
	regs->rsp = stack_top;
	regs->rbp = 0;
	regs->eflags &= ~(uint64_t)DIRECTION;
}

/** Calls that return EINTR when a tracer stops them, although nothing else has happened. */
static bool is_repeatable(uint64_t number) {
	switch (number) {
	case SYS_read:
	case SYS_readv:
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgsnd:
	case SYS_msgrcv:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter: return true;
	default: return false;
	}
}

bool regs_is_interrupted(const struct user_regs_struct *regs) {
	return (int64_t)regs->rax == -EINTR && (int64_t)regs->orig_rax >= 0 &&
			is_repeatable(regs->orig_rax);
}

void regs_repeat_call(struct user_regs_struct *regs) {
	regs->rax = regs->orig_rax;
	regs->rip -= 2; // the instruction's bytes
	regs->orig_rax = UINT64_MAX;
}

/** It sets the main thread's FS base: nothing has been relocated by then. */
bool regs_has_mapped_libraries(const struct user_regs_struct *regs) {
	enum { SET_FS = 0x1002 }; // asm/prctl.h: ARCH_SET_FS
	return regs->orig_rax == SYS_arch_prctl && regs->rdi == SET_FS && regs->rax == 0;
}
