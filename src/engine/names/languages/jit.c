// SPDX-License-Identifier: MIT
/*
 * Parses the names that JIT compilers give to generated code in the map for perf:
 *
 *   JS:~onGossipBlock /app/srv.js:3:23     V8; ~ * ^ + - say by which of its compilers
 *   LazyCompile:~get /app/srv.js:3         V8 of node 18 and before
 *   py::parse:/app/parse.py                CPython with -X perf
 *   Builtin:ArrayMap  RegExp:a(b+)c        V8's own
 *
 * The place in the name becomes file and line. Everything borrows from the name.
 */
#include "engine/names/parts.h"

static bool read_v8(struct slice s, struct name *out) {
	static const char kinds[] = "|JS:|LazyCompile:|Function:|Script:|Eval:|Callback:";
	if (!take_any(&s, kinds) || s.size == 0) {
		return false;
	}
	size_t mark = memchr("~*^+-", s.data[0], 5) != NULL;
	s = slice_from(s, mark);
	// "get size /srv/my app/a.js:3:23": functions and files may contain spaces
	size_t n_before = before_first(s, '/').size;
	const uint8_t *blank = n_before ? memrchr(s.data, ' ', n_before) : NULL;
	size_t n = blank ? (size_t)(blank - s.data) : s.size;
	struct slice file = blank ? slice_of(blank + 1, s.size - n - 1) : (struct slice){0};
	uint32_t column = 0, line = 0;
	(void)(take_last_number(&file, &column) && take_last_number(&file, &line));
	out->function = column ? slice_of(s.data, n) : s.size ? s : out->function;
	if (column) {
		bool is_whole_file = (line ?: column) == 1 && (line == 0 || column == 1);
		(void)take_prefix(&file, "file://");
		out->file = file;
		out->line = !file.size ? 0 : line ?: column; // node 18 has no column
		out->function = n ? out->function
						  : slice_of_text(is_whole_file ? "(top level)" : "(anonymous)");
	}
	return s.size > 0;
}

static bool read_python(struct slice s, struct name *out) {
	struct slice function;
	bool ok = take_prefix(&s, "py::") && take_part(&s, ':', &function) && function.size && s.size;
	out->function = ok ? function : out->function;
	out->file = ok ? s : out->file;
	return ok;
}

void names_jit_read(struct name *out) {
	const struct slice symbol = out->function;
	if (read_v8(symbol, out) || read_python(symbol, out)) {
		out->symbol = symbol;
	}
}

struct slice names_jit_package(const struct name *f) {
	struct slice rest = f->file;
	return take_prefix(&rest, "node:") ? slice_of_text("node") : path_base(f->file);
}

enum code names_jit_code(const struct name *f, enum code otherwise) {
	static const char runtime
			[] = "|Builtin:|BytecodeHandler:|RegExp:|Stub:|Handler:|Bytecode:|generic_trampoline_"
				 "|(wrapper |(null)|System.";
	if (starts_with_any(f->function, runtime)) {
		return CODE_RUNTIME;
	}
	enum code code = f->file.size ? owner_of_file(f->file) : CODE_UNSURE;
	// <frozen importlib._bootstrap>, and names of the runtime's scripts
	code = code == CODE_UNSURE && f->file.size && f->file.data[0] == '<' ? CODE_RUNTIME : code;
	return code ? code : otherwise;
}
