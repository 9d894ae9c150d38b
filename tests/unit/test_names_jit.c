// SPDX-License-Identifier: MIT
#include "engine/names/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

struct read {
	const char *raw, *function, *file;
	uint32_t line;
	enum code code;
};

static const struct read names[] = {
		{"JS:~onGossipBlock /srv/app/srv.js:3:23", "onGossipBlock", "/srv/app/srv.js", 3,
				CODE_YOURS},
		{"JS:*onGossipBlock /srv/app/srv.js:3:23", "onGossipBlock", "/srv/app/srv.js", 3,
				CODE_YOURS},
		{"JS:^f /a.js:1:2", "f", "/a.js", 1, CODE_YOURS},
		{"JS:+f /a.js:1:2", "f", "/a.js", 1, CODE_YOURS},
		{"LazyCompile:*f /a.js:10:2", "f", "/a.js", 10, CODE_YOURS},
		{"LazyCompile:f /a.js:10:2", "f", "/a.js", 10, CODE_YOURS},
		{"LazyCompile:~f /srv/my app/a.js:10", "f", "/srv/my app/a.js", 10, CODE_YOURS},
		{"LazyCompile:~FastBuffer node:internal/buffer:960", "FastBuffer", "node:internal/buffer",
				960, CODE_RUNTIME},
		{"LazyCompile:~ /a.js:7", "(anonymous)", "/a.js", 7, CODE_YOURS},
		{"Script:~ /a.js:1", "(top level)", "/a.js", 1, CODE_YOURS},
		{"JS:~get size file:///srv/my app/a.mjs:7:19", "get size", "/srv/my app/a.mjs", 7,
				CODE_YOURS},
		{"JS:~#p /a.js:1:61", "#p", "/a.js", 1, CODE_YOURS},
		{"JS:~ /a.js:2:61", "(anonymous)", "/a.js", 2, CODE_YOURS},
		{"Script:~ file:///a.mjs:1:1", "(top level)", "/a.mjs", 1, CODE_YOURS},
		{"Eval:~ :1:1", "(top level)", "", 0, CODE_YOURS},
		{"Function:~f evalmachine.<anonymous>:4:1", "f", "evalmachine.<anonymous>", 4, CODE_YOURS},
		{"JS:~processImmediate node:internal/timers:438:28", "processImmediate",
				"node:internal/timers", 438, CODE_RUNTIME},
		{"JS:~push /srv/node_modules/q/q.js:9:5", "push", "/srv/node_modules/q/q.js", 9,
				CODE_LIBRARY},
		{"JS:~strange", "strange", "", 0, CODE_YOURS},
		{"JS:~a.js:99999999999:1", "a.js:99999999999:1", "", 0, CODE_YOURS},
		{"Builtin:ArrayMap", "Builtin:ArrayMap", "", 0, CODE_RUNTIME},
		{"generic_trampoline_jit", "generic_trampoline_jit", "", 0, CODE_RUNTIME},
		{"(wrapper alloc) object:AllocSmall", "(wrapper alloc) object:AllocSmall", "", 0,
				CODE_RUNTIME},
		{"RegExp:a(b+)c", "RegExp:a(b+)c", "", 0, CODE_RUNTIME},
		{"py::parse:/srv/parse.py", "parse", "/srv/parse.py", 0, CODE_YOURS},
		{"py::_find:<frozen importlib._bootstrap>", "_find", "<frozen importlib._bootstrap>", 0,
				CODE_RUNTIME},
		{"py::x", "py::x", "", 0, CODE_YOURS},
		{"Lcom/acme/Foo;::bar", "Lcom/acme/Foo;::bar", "", 0, CODE_YOURS},
};

static void assert_text(const char *raw, struct slice got, const char *wanted) {
	if (!slice_equal(got, slice_of_text(wanted))) {
		fail_msg("%s: \"%.*s\", not \"%s\"", raw, SLICE_ARG(got), wanted);
	}
}

static void names_are_taken_apart(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct read *r = &names[i];
		struct name out = {.function = slice_of_text(r->raw), .has_name = true};
		names_jit_read(&out);
		assert_text(r->raw, out.function, r->function);
		assert_text(r->raw, out.file, r->file);
		assert_int_equal(out.line, r->line);
		assert_int_equal(names_jit_code(&out, CODE_YOURS), r->code);
	}
}

/** Whatever stands there: nothing is read past its end (the sanitizers say so), nothing is empty. */
static void any_beginning_will_do(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		for (size_t n = 1; n <= strlen(names[i].raw); n++) {
			uint8_t *copy = malloc(n);
			assert_non_null(copy);
			memcpy(copy, names[i].raw, n);
			struct name out = {.function = slice_of(copy, n), .has_name = true};
			names_jit_read(&out);
			assert_true(out.function.size > 0);
			(void)names_jit_code(&out, CODE_UNSURE);
			free(copy);
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(names_are_taken_apart),
			cmocka_unit_test(any_beginning_will_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
