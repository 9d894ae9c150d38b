// SPDX-License-Identifier: MIT
/*
 * The stubs at which calls of patched functions arrive.
 *
 * The island, which the patch jumps to, has executed
 *
 *      push %rbp;  mov %rsp, %rbp;  push what
 *
 * so that frame pointers lead through the stub. Only the real function may change registers:
 * callers in one translation unit know which ones it leaves alone (-fipa-ra) and rely on it.
 * Therefore the stub saves all registers that its own calls may change and restores all but those
 * in which the real function answers. What is called here is built for general registers only.
 */
#include "recorder/inject/layout.h"

#include <asm/unistd.h>

	.text

// The caller's registers into a struct inject_frame
	.macro	keep
	pushq	%r11
	pushq	%r10
	pushq	%rax
	pushq	%r9
	pushq	%r8
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	subq	$INJECT_RDI, %rsp
	.endm

	.macro	give_arguments
	movq	INJECT_RDI(%rsp), %rdi
	movq	INJECT_RSI(%rsp), %rsi
	movq	INJECT_RDX(%rsp), %rdx
	movq	INJECT_RCX(%rsp), %rcx
	movq	INJECT_R8(%rsp), %r8
	movq	INJECT_R9(%rsp), %r9
	.endm

	.macro	call_real
	give_arguments
	movq	INJECT_WHAT(%rsp), %rax
	call	*INJECT_CALLED(%rax)
	.endm

	.macro	give_back
	give_arguments
	movq	INJECT_R10(%rsp), %r10
	movq	INJECT_R11(%rsp), %r11
	.endm

	.macro	begin name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	.cfi_def_cfa %rbp, 16
	.cfi_offset %rbp, -16
	keep
	.endm

	.macro	end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

begin inject_stub
	movq	%rsp, %rdi
	call	inject_enter
	call_real
	movq	%rax, INJECT_RAX(%rsp)
	movq	%rdx, INJECT_RDX(%rsp)
	movq	%rsp, %rdi
	call	inject_leave
	testb	%al, %al // nothing until the jump changes the flags
	give_back
	movq	INJECT_RAX(%rsp), %rax
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	jne	1f
	ret
	// The real function is called again, without us, and throws: the caller is next on its stack
1:	jmp	*-16(%rsp) // goes_on_at, in the red zone now
end inject_stub

begin inject_stub_allocates
	movq	%rsp, %rsi
	call	inject_enter_allocation
	call_real
	movq	%rdx, INJECT_RDX(%rsp)
	movq	%rax, %rdi
	movq	%rsp, %rsi
	call	inject_leave_allocation
	give_back
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
end inject_stub_allocates

begin inject_stub_frees
	movq	%rsp, %rsi
	call	inject_enter_free
	call_real
	movq	%rax, INJECT_RAX(%rsp)
	movq	%rdx, INJECT_RDX(%rsp)
	movq	%rsp, %rdi
	call	inject_leave_free
	give_back
	movq	INJECT_RAX(%rsp), %rax
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
end inject_stub_frees

	.globl	inject_stub_calls
	.type	inject_stub_calls, @function
	.p2align 4
inject_stub_calls:
	.cfi_startproc
	.cfi_def_cfa %rbp, 16
	.cfi_offset %rbp, -16
	.irp	number, __NR_mmap, __NR_munmap, __NR_mremap, __NR_mprotect, __NR_pkey_mprotect, \
		__NR_shmat, __NR_shmdt, __NR_madvise, __NR_mlock, __NR_mlock2, __NR_munlock, \
		__NR_memfd_create, __NR_prctl, __NR_execve, __NR_execveat
	cmpq	$\number, %rdi
	je	1f
	.endr
	.cfi_remember_state
	popq	%r11 // what; the system call changes this register anyway
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	jmp	*INJECT_CALLED(%r11)
	.cfi_restore_state
1:	keep
	movq	%rsp, %rdi
	call	inject_enter
	give_arguments
	movq	INJECT_WHAT(%rsp), %rax
	subq	$8, %rsp
	pushq	16(%rbp) // the last argument of a call with six
	call	*INJECT_CALLED(%rax)
	addq	$16, %rsp
	movq	%rax, INJECT_RAX(%rsp)
	movq	%rdx, INJECT_RDX(%rsp)
	movq	%rsp, %rdi
	call	inject_leave
	give_back
	movq	INJECT_RAX(%rsp), %rax
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
end inject_stub_calls

	.section	.note.GNU-stack, "", @progbits
