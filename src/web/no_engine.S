// SPDX-License-Identifier: MIT
/* What stands for the engine in a program that holds no page to open files with. */
	.section .rodata
	.globl page_engine, page_engine_end
page_engine:
page_engine_end:
	.section .note.GNU-stack,"",%progbits
