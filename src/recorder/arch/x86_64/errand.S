// SPDX-License-Identifier: MIT
/* The beginning of errands. */
	.text

// In the midst of a system call, which is made by the registers as they are
	.ascii	"HEAPERR1" // ERRAND_MAGIC
	.globl	errand_begin
	.hidden	errand_begin
	.type	errand_begin, @function
errand_begin:
	syscall
	testq	%rax, %rax
	js	1f
	movq	%rbx, %rdi
	call	errand_do
	movq	%rax, %rsp
	movl	$15, %eax // rt_sigreturn
	syscall
1:	ud2 // nothing can be written down: a fault tells
	.size	errand_begin, . - errand_begin

	.section	.note.GNU-stack, "", @progbits
