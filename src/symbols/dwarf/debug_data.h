// SPDX-License-Identifier: MIT
#pragma once
/**
 * DWARF of one module, through elfutils. The units and their ranges are listed
 * once, for a compressed file perhaps only those that were requested; a query then walks only the
 * units that contain a requested address, and the memory that elfutils takes for them is released
 * every few units.
 */

#include "symbols/files/files.h"
#include "symbols/names/names.h"
#include "symbols/names/symbol_table.h"

struct debug_data;

/** Open the DWARF of the files; they are borrowed and must outlive it. NULL: there is none. */
struct debug_data *debug_data_create(const struct module_files *files,
		const struct symbols_options *options, const char *module_path);
void debug_data_destroy(struct debug_data *d);

/** What is asked, and where the answers go. */
struct debug_question {
	const uint64_t *pcs; // not descending
	size_t n;
	const struct symbol_table *table; // names what DWARF has no linkage name for
	struct name_pool *pool;
	struct symbols_answer *answers; // those without an answer are left alone
};

/**
 * Answer from DWARF: the chain of inlined calls, or, if no function is known, one frame with file
 * and line but no name. False: no memory.
 */
bool debug_data_ask(struct debug_data *d, const struct debug_question *q);

/** Split units of the last question whose other half was not found. */
size_t debug_data_n_missing_splits(const struct debug_data *d);
