// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

/**
 * CLOCK_MONOTONIC, in ns. Any thread, any signal handler, errno as it was. Asked of the kernel's own
 * library (the vdso), or of the kernel: libc's clock_gettime may be another's, which tells what it
 * wants (libfaketime) or cannot be called yet (sanitizers).
 */
uint64_t preload_clock_ns(void);
