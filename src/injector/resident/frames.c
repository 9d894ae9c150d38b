// SPDX-License-Identifier: MIT

/* Which modules need tables, and what their symbols say of their functions. */

#include "injector/resident/frames.h"

#include "base/vec.h"
#include "injector/resident/flow.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 64 << 20 };

static bool never_returns(const char *name) {
	static const char *const names[] = {"abort", "exit", "_exit", "_Exit", "quick_exit",
			"__assert_fail", "__stack_chk_fail", "longjmp", "siglongjmp", "_longjmp",
			"pthread_exit", "__pthread_exit", "thrd_exit", "malloc_printerr", "__libc_fatal",
			"__fortify_fail", "__chk_fail", "_Unwind_Resume", "_dl_signal_error",
			"__assert_fail_base"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(name, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static void add_symbols(struct flow *f, uint32_t table) {
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	bool has_table = elf_symbols_init(&symbols, &f->module->image, table);
	while (has_table && elf_symbols_next(&symbols, &symbol)) {
		if (symbol.type != STT_FUNC || symbol.section == SHN_UNDEF) {
			continue;
		}
		if (!strstr(symbol.name, ".cold")) {
			flow_add_begin(f, symbol.address);
			flow_mark(f, symbol.address, never_returns(symbol.name) ? FLOW_NO_RETURN : 0);
		} else {
			flow_mark(f, symbol.address, FLOW_COLD);
		}
	}
}

/** Is there an allocation function of that module, or its beginning, that no table covers? */
static bool needs_frames(const struct flow *f, const struct found_functions *functions,
		bool is_program) {
	bool needs = is_program && f->module->image.entry != 0 &&
			!flow_has_tables(f, f->module->image.entry);
	for (size_t i = 0; i < functions->n && !needs; i++) {
		const struct found_function *function = &functions->items[i];
		needs = function->module_start == f->module->start &&
				!flow_has_tables(f, function->address - f->module->bias);
	}
	return needs;
}

static void follow_segment(struct buffer *out, struct flow *f, const struct elf_segment *s) {
	struct slice code = module_code_bytes(f->module, s->address, s->file_bytes);
	f->code = code.data;
	f->start = s->address;
	f->end = s->address + code.size;
	f->patience = 4 * code.size;
	f->rows = calloc(code.size, sizeof *f->rows);
	f->marks = calloc(code.size, 1);
	f->pages = calloc(code.size / FLOW_PAGE + 1, 1);
	if (f->rows && f->marks && f->pages) {
		flow_add_begin(f, f->module->image.entry);
		add_symbols(f, SHT_DYNSYM);
		add_symbols(f, SHT_SYMTAB);
		flow_follow(f);
		flow_put_records(out, f);
	}
	free(f->rows);
	free(f->marks);
	free(f->pages);
	vec_finish(&f->begins);
	vec_finish(&f->places);
}

void frames_make(struct buffer *out, const struct modules_code *modules,
		const struct found_functions *functions) {
	for (size_t i = 0; i < modules->n; i++) {
		struct flow f = {.module = &modules->items[i]};
		struct elf_segment s;
		(void)code_map_init(&f.tables, &f.module->image); // none at all: there are none
		bool needs = needs_frames(&f, functions, i == 0);
		for (uint32_t k = 0; needs && elf_segment_at(&f.module->image, k, &s); k++) {
			if (s.type == PT_LOAD && (s.flags & PF_X) != 0 && s.file_bytes > 0 &&
					s.file_bytes < TEXT_MAX) {
				follow_segment(out, &f, &s);
			}
		}
		code_map_finish(&f.tables);
	}
	if (out->size > 0) {
		buffer_u32(out, 0);
	}
}
