// SPDX-License-Identifier: MIT

// A static program without a C library, and so without an allocator: exit status 9.
	.text
	.globl	_start
_start:
	movl	$60, %eax
	movl	$9, %edi
	syscall
	.section	.note.GNU-stack, "", @progbits
