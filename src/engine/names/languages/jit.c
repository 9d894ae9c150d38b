// SPDX-License-Identifier: MIT
/*
 * Takes apart the names that JIT compilers give to the code that they make. They stand in the map
 * that a compiler writes for perf:
 *
 *   JS:~onGossipBlock /app/srv.js:3:23     V8; ~ * ^ + - say by which of its compilers
 *   LazyCompile:~get /app/srv.js:3         V8 of node 18 and before
 *   py::parse:/app/parse.py                CPython with -X perf
 *   Builtin:ArrayMap  RegExp:a(b+)c        V8's own
 *
 * The place is a part of the name: here it becomes file and line. Everything borrows from the name.
 */
#include "engine/names/parts.h"

/** ":12" at the end of a text; 0: it has none. */
static uint32_t take_last_number(struct slice *s) {
	size_t i = s->size;
	uint64_t number = 0, digit = 1;
	for (; i > 0 && s->data[i - 1] >= '0' && s->data[i - 1] <= '9' && digit < 10000000000; i--) {
		number += (uint64_t)(s->data[i - 1] - '0') * digit;
		digit *= 10;
	}
	if (i == 0 || i == s->size || s->data[i - 1] != ':' || number > UINT32_MAX) {
		return 0;
	}
	s->size = i - 1;
	return (uint32_t)number;
}

/** Where the file begins in "get size /srv/my app/a.js": functions and files may contain blanks. */
static size_t find_file(struct slice s) {
	static const char *const begins[] = {" /", " file://", " node:", " http", " wasm://"};
	size_t best = s.size;
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
		const uint8_t *at = s.size ? memmem(s.data, s.size, begins[i], strlen(begins[i])) : NULL;
		best = at && (size_t)(at - s.data) < best ? (size_t)(at - s.data) : best;
	}
	const uint8_t *blank = s.size && best == s.size ? memrchr(s.data, ' ', s.size) : NULL;
	return blank ? (size_t)(blank - s.data) : best;
}

static bool read_v8(struct slice s, struct name *out) {
	static const char *const kinds[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:",
			"Callback:"};
	bool is_v8 = ANY(i, sizeof kinds / sizeof *kinds, take_prefix(&s, kinds[i]));
	if (!is_v8) {
		return false;
	}
	if (s.size > 0 && memchr("~*^+-", s.data[0], 5)) {
		s = slice_of(s.data + 1, s.size - 1);
	}
	struct slice place = s;
	uint32_t column = take_last_number(&place), line = column ? take_last_number(&place) : 0;
	if (line == 0) { // node 18 says the line alone
		line = column;
		column = 0;
	}
	if (line == 0 || (column == 0 && find_file(place) == place.size)) {
		out->function = s.size > 0 ? s : out->function;
		return s.size > 0;
	}
	size_t at = find_file(place);
	out->function = slice_of(place.data, at);
	out->file = at < place.size ? slice_of(place.data + at + 1, place.size - at - 1)
								: (struct slice){0};
	(void)take_prefix(&out->file, "file://");
	out->line = out->file.size ? line : 0;
	if (out->function.size == 0) {
		bool is_whole_file = line == 1 && column <= 1;
		out->function = slice_of_text(is_whole_file ? "(top level)" : "(anonymous)");
	}
	return true;
}

static bool read_python(struct slice s, struct name *out) {
	const uint8_t *colon = take_prefix(&s, "py::") && s.size ? memchr(s.data, ':', s.size) : NULL;
	if (!colon || colon == s.data) {
		return false;
	}
	size_t n = (size_t)(colon - s.data);
	out->function = slice_of(s.data, n);
	out->file = slice_of(s.data + n + 1, s.size - n - 1);
	return true;
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
	static const char *const runtime[] = {"Builtin:", "BytecodeHandler:", "RegExp:", "Stub:",
			"Handler:", "Bytecode:", "generic_trampoline_", "(wrapper ", "(null)", "System."};
	if (STARTS_WITH_ANY(f->function, runtime)) {
		return CODE_RUNTIME;
	}
	enum code code = f->file.size ? owner_of_file(f->file) : CODE_UNSURE;
	// <frozen importlib._bootstrap>, and what scripts of the runtime's call themselves
	code = code == CODE_UNSURE && f->file.size && f->file.data[0] == '<' ? CODE_RUNTIME : code;
	return code ? code : otherwise;
}
