// SPDX-License-Identifier: MIT
/** Stands for what glibc's elf.h includes without need. */
