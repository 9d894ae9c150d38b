// SPDX-License-Identifier: MIT
#pragma once

/**
 * Which of a module's C++ operators reach blocks by themselves, as those of jemalloc, tcmalloc and
 * mimalloc do. Others call functions that are hooked, as those of a C++ library do, and are left alone.
 */

#include "injector/find.h"

/** Of those found in `module`, from `first` on, drop operators that are not to be hooked. */
void operators_judge(struct found_functions *out, size_t first, const struct module_code *module);
