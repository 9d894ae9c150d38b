// SPDX-License-Identifier: MIT
#pragma once

#include "base/slice.h"

#include <stdbool.h>

/**
 * Whose code a frame is, by the rules of PRODUCT's word "yours". Private to the engine.
 */

/** A source file that belongs to a library: system headers, language registries, vendored trees. */
bool owner_file_is_library(struct slice file);

/** A function that belongs to a library, judged by its name alone. */
bool owner_function_is_library(struct slice function);

/** A module (shared object) that belongs to a library. */
bool owner_module_is_library(struct slice path);

/** An executable that runs other people's programs (node, python3.11, java, ruby, perl, ...). */
bool owner_is_runtime(struct slice exe);
