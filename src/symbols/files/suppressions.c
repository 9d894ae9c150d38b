// SPDX-License-Identifier: MIT
/* Finds a module's suppressions in its code. */
#include "symbols/suppressions.h"

#include "elf/returned_text.h"
#include "symbols/files/mapped.h"

struct slice symbols_suppressions(const struct symbols_module *module, struct arena *arena) {
	struct mapped_file file;
	struct slice text = {0};
	if (module->fd < 0 ||
			!mapped_file_open(&file, module->fd, module->path, (struct slice){0}, NULL)) {
		return text;
	}
	const char *copy = NULL;
	if (elf_returned_text(&file.elf, "__lsan_default_suppressions", &text)) {
		copy = arena_text(arena, text);
	}
	mapped_file_close(&file);
	return slice_of(copy, copy ? text.size : 0);
}
