// SPDX-License-Identifier: MIT
/** Replaces what glibc's elf.h includes without need. */
