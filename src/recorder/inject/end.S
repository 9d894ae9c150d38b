// SPDX-License-Identifier: MIT
/* Linked last, it ends the unwind tables with a record of length 0, as crtend.o does. */
	.section	.eh_frame, "a", @progbits
	.long	0
	.section	.note.GNU-stack, "", @progbits
