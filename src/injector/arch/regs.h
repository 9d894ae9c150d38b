// SPDX-License-Identifier: MIT
#pragma once

/** The registers of a stopped thread, in words that hold on every architecture. */

#include "wire/errand.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/** Read or write all of them by ptrace. False: the thread is gone. */
bool regs_get(pid_t tid, struct user_regs_struct *regs);
bool regs_set(pid_t tid, const struct user_regs_struct *regs);

uint64_t regs_pc(const struct user_regs_struct *regs);
void regs_set_pc(struct user_regs_struct *regs, uint64_t pc);
uint64_t regs_sp(const struct user_regs_struct *regs);

/** What the recorder knows the thread by (struct resident_thread). */
uint64_t regs_thread_key(const struct user_regs_struct *regs);

/** About to run code at `pc` with a system call in its registers, and with no call to restart. */
void regs_set_call(struct user_regs_struct *regs, uint64_t pc, long number,
		const uint64_t arguments[6]);
int64_t regs_result(const struct user_regs_struct *regs);

/** What the recorder's code for errands expects besides. */
void regs_set_errand(struct user_regs_struct *regs, uint64_t errand, uint64_t stack_top);

/** Has the stop made a system call return EINTR that may simply be made once more? */
bool regs_is_interrupted(const struct user_regs_struct *regs);
void regs_repeat_call(struct user_regs_struct *regs);

/** At a call's end: has glibc's loader made the one that follows when all libraries are mapped? */
bool regs_has_mapped_libraries(const struct user_regs_struct *regs);

/** By what rt_sigreturn gives a thread its registers and its signal mask back. */
struct signal_frame {
	_Alignas(64) uint8_t bytes[ERRAND_BYTES - ERRAND_FRAME_AT];
	size_t n_bytes;
};

/**
 * Build it for the stopped thread `tid`, whose vector registers are read, to lie at `at`, a
 * multiple of 64. A system call that was interrupted is made again. False: errno says why.
 */
bool regs_put_frame(struct signal_frame *out, pid_t tid, const struct user_regs_struct *regs,
		uint64_t mask, uint64_t at);
