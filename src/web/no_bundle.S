// SPDX-License-Identifier: MIT
/* What stands for the page in a program that is built without it. */
	.section .rodata
	.globl page_bundle, page_bundle_end
page_bundle:
page_bundle_end:
	.byte 0
	.byte 0
	.section .note.GNU-stack,"",%progbits
