// SPDX-License-Identifier: MIT
#pragma once

/** glibc's allocation functions in a static program without symbols. */

#include "injector/find/functions.h"

/**
 * Add them, if malloc, free, calloc and realloc are all recognized beyond doubt, and nothing
 * otherwise. memalign is added as well, or with the reason why it cannot be hooked. False: out of
 * memory.
 */
bool stripped_find(struct found_functions *out, const struct module_code *module);
