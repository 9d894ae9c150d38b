// SPDX-License-Identifier: MIT
/* Calls of the process's own functions. */
	.text

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

// The name by which the injector finds it
	.globl	inject_errand
	.type	inject_errand, @function
inject_errand:
	jmp	errand_begin
	.size	inject_errand, . - inject_errand

	.section	.note.GNU-stack, "", @progbits
