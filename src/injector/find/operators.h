// SPDX-License-Identifier: MIT
#pragma once

/**
 * Which of a module's C++ operators allocate by themselves.
 *
 * Those of jemalloc, tcmalloc and mimalloc do. Others, as those of a C++ library, call functions
 * that are hooked, and are left alone.
 */

#include "injector/find/functions.h"

/** Of those found in `module`, from `first` on, drop operators that are not to be hooked. */
void operators_judge(struct found_functions *out, size_t first, const struct module_code *module);
