// SPDX-License-Identifier: MIT
#pragma once

/**
 * The suppressions for LeakSanitizer that a module brings along.
 *
 * They are the text of its function __lsan_default_suppressions, read from the file; a function
 * that does more than return a constant has none. Any thread.
 */

#include "symbols/symbols.h"

/**
 * Only of the file behind `module->fd`. The text is copied into `arena`; empty: no rules, or none
 * that can be read.
 */
struct slice symbols_suppressions(const struct symbols_module *module, struct arena *arena);
