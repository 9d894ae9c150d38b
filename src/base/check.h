// SPDX-License-Identifier: MIT
#pragma once
/**
 * Assertions about our own code. If check(cond) fails, the process prints where and aborts.
 * Never used on input. Enabled in all builds, so use it on rare paths, not in inner loops.
 */

#include "base/attr.h"

#define check(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))

ATTR_NORETURN ATTR_COLD void check_failed(const char *cond, const char *file, int line);
