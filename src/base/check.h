// SPDX-License-Identifier: MIT
#pragma once

#include "base/attr.h"

/**
 * check(cond): a claim about our own code. If it is false the process says where and aborts.
 * Never used on input. On in all builds: it guards rare paths, not inner loops.
 */
#define check(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))

ATTR_NORETURN ATTR_COLD void check_failed(const char *cond, const char *file, int line);
