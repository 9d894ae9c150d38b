// SPDX-License-Identifier: MIT
#pragma once

#include "base/attr.h"

/**
 * check(cond): an assertion about our own code. If it fails, the process prints where and aborts.
 * Never used on input. Enabled in all builds, so use it on rare paths, not in inner loops.
 */
#define check(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))

ATTR_NORETURN ATTR_COLD void check_failed(const char *cond, const char *file, int line);
