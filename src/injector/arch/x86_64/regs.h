// SPDX-License-Identifier: MIT
#pragma once
/**
 * The registers of a stopped thread of 64-bit x86. A system call's number and result are in rax;
 * during the call, its number is in orig_rax.
 */

#include "base/base.h"
#include "wire/resident.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>

static inline bool regs_get(pid_t tid, struct user_regs_struct *regs) {
	return ptrace(PTRACE_GETREGS, tid, 0, regs) == 0;
}

static inline bool regs_set(pid_t tid, const struct user_regs_struct *regs) {
	return ptrace(PTRACE_SETREGS, tid, 0, regs) == 0;
}

static inline uint64_t regs_pc(const struct user_regs_struct *regs) {
	return regs->rip;
}

static inline void regs_set_pc(struct user_regs_struct *regs, uint64_t pc) {
	regs->rip = pc;
}

static inline uint64_t regs_sp(const struct user_regs_struct *regs) {
	return regs->rsp;
}

/**
 * The lowest address of its stack that a thread uses. Leaf functions use 128 bytes below the stack
 * pointer, a thread within a system call (or about to repeat one) none.
 */
static inline uint64_t regs_kept_from(const struct user_regs_struct *regs, bool repeats_call) {
	enum { RED_ZONE = 128 };
	return regs->rsp - (!repeats_call && (int64_t)regs->orig_rax < 0 ? RED_ZONE : 0);
}

/** Registers that may hold addresses: up to the program counter by their DWARF numbers. */
static inline void regs_words(const struct user_regs_struct *r, uint64_t out[static 19]) {
	const uint64_t words[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip, r->fs_base, r->gs_base};
	memcpy(out, words, sizeof words);
}

/** By what the recorder knows the thread (struct resident_thread). */
static inline uint64_t regs_thread_key(const struct user_regs_struct *regs) {
	return regs->fs_base;
}

/** Let the thread run code at `pc`, with the registers of a system call and none to restart. */
static inline void regs_set_call(struct user_regs_struct *regs, uint64_t pc, long number,
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

static inline int64_t regs_result(const struct user_regs_struct *regs) {
	return (int64_t)regs->rax;
}

/** What else the recorder's errand code expects. */
static inline void regs_set_errand(struct user_regs_struct *regs, uint64_t errand,
		uint64_t stack_top) {
	enum { DIRECTION = 0x400 }; // of string instructions: functions expect it clear
	regs->rbx = errand;
	regs->rsp = stack_top;
	regs->rbp = 0;
	regs->eflags &= ~(uint64_t)DIRECTION;
}

/** Did the stop make a system call return EINTR that can simply be made again? */
static inline bool regs_is_interrupted(const struct user_regs_struct *regs) {
	static const uint16_t repeatable[] = {SYS_read, SYS_readv, SYS_accept, SYS_accept4,
			SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_epoll_wait,
			SYS_epoll_pwait, SYS_epoll_pwait2, SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop,
			SYS_msgsnd, SYS_msgrcv, SYS_io_getevents, SYS_io_pgetevents, SYS_io_uring_enter};
	return (int64_t)regs->rax == -EINTR &&
			ANY(i, N_OF(repeatable), regs->orig_rax == repeatable[i]);
}

static inline void regs_repeat_call(struct user_regs_struct *regs) {
	regs->rax = regs->orig_rax;
	regs->rip -= 2; // the instruction's bytes
	regs->orig_rax = UINT64_MAX;
}

/**
 * At a call's end: has glibc's loader mapped all libraries? Then it sets the FS base; nothing is
 * relocated before.
 */
static inline bool regs_has_mapped_libraries(const struct user_regs_struct *regs) {
	enum { SET_FS = 0x1002 }; // asm/prctl.h: ARCH_SET_FS
	return regs->orig_rax == SYS_arch_prctl && regs->rdi == SET_FS && regs->rax == 0;
}

/** What rt_sigreturn restores a thread's registers and signal mask from. */
struct signal_frame {
	_Alignas(64) uint8_t bytes[ERRAND_BYTES - ERRAND_FRAME_AT];
	size_t n_bytes;
};

/**
 * Build the frame of the stopped thread `tid`, with its vector registers, for address `at`, a
 * multiple of 64. An interrupted system call is made again. False: errno says why.
 */
bool regs_put_frame(struct signal_frame *out, pid_t tid, const struct user_regs_struct *regs,
		uint64_t mask, uint64_t at);
