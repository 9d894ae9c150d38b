// SPDX-License-Identifier: MIT

// Where calls of patched functions arrive. The island, which the patch jumps to, has done
//
//      push %rbp;  mov %rsp, %rbp;  push what
//
// so that frame pointers lead through us. No register may change but by the real function: callers
// within one translation unit know what it leaves alone (-fipa-ra) and rely on it. So all are given
// back as they came but for those that it answers in: what it leaves alone it has not changed, and what
// else it has changed nobody reads. It is given those that carry arguments. What is called here is
// built for general registers only.

#include "recorder/inject/layout.h"

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
	// As if it had never been here, with the call's arguments: what throws finds the caller above it
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

// inject_call(function, a, b): with the vector registers kept, which the loader's code may use
	.globl	inject_call
	.hidden	inject_call
	.type	inject_call, @function
inject_call:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq	$-16, %rsp
	subq	$256, %rsp
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movaps	%xmm\n, 16 * \n(%rsp)
	.endr
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	call	*%rax
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movaps	16 * \n(%rsp), %xmm\n
	.endr
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	inject_call, . - inject_call

	.globl	inject_errand
	.type	inject_errand, @function
inject_errand:
	syscall
	testq	%rax, %rax
	js	1f
	movq	%rbx, %rdi
	call	inject_do_errand
	movq	%rax, %rsp
	movl	$15, %eax // rt_sigreturn
	syscall
1:	ud2 // nothing can be written down: a fault tells
	.size	inject_errand, . - inject_errand

	.section	.note.GNU-stack, "", @progbits
