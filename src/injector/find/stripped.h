// SPDX-License-Identifier: MIT
#pragma once

/** glibc's allocation functions in a static program without symbols. */

#include "injector/find.h"

/**
 * Adds them, if all of malloc, free, calloc and realloc are recognized beyond doubt; memalign and its kind
 * are added too, or with the reason why they are not. Anything else: nothing. False: out of memory.
 */
bool stripped_find(struct found_functions *out, const struct module_code *module);
