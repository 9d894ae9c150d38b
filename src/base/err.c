// SPDX-License-Identifier: MIT
/* Formats errors, with what callers prepend; ends the process for lack of memory, or aborts */
#include "base/err.h"

#include "base/slice.h"

bool err_set(struct err *err, enum err_code code, const char *fmt, ...) {
	if (!err) {
		return false;
	}
	err->code = code;
	(void)FORMAT_ARGS(err->text, sizeof err->text, fmt);
	return false;
}

bool err_add(struct err *err, const char *fmt, ...) {
	if (!err) {
		return false;
	}
	char old[sizeof err->text];
	memcpy(old, err->text, sizeof old);
	int n = FORMAT_ARGS(err->text, sizeof err->text, fmt);
	int left = (int)sizeof err->text - n - 3; // ": " and the NUL
	if (n >= 0 && left > 0) {
		(void)snprintf(err->text + n, sizeof err->text - (size_t)n, ": %.*s", left, old);
	}
	return false;
}

bool err_system(struct err *err, int errnum, const char *fmt, ...) {
	if (!err) {
		return false;
	}
	err->code = ERR_SYSTEM;
	int n = FORMAT_ARGS(err->text, sizeof err->text, fmt);
	if (n >= 0 && (size_t)n < sizeof err->text) {
		char text[128];
		(void)snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s",
				strerror_r(errnum, text, sizeof text));
	}
	return false;
}

bool err_memory(struct err *err) {
	return err_set(err, ERR_MEMORY, "out of memory");
}

// ---- memory

static struct {
	void (*end)(void *user); // NULL: callers get NULL
	void *user;
	const char *program;
	int status;
} lack;

static void say_and_end(void *user) {
	(void)user;
	fprintf(stderr, "%s: out of memory\n", lack.program);
	_Exit(lack.status);
}

void memory_must(const char *program, int status) {
	lack.program = program;
	lack.status = status;
	memory_must_or(say_and_end, NULL);
}

void memory_must_or(void (*end)(void *user), void *user) {
	lack.user = user;
	lack.end = end;
}

void *memory_lacks(void) {
	if (lack.end) {
		lack.end(lack.user);
	}
	return NULL;
}

void *memory_new(size_t n, size_t size) {
	return calloc(n ? n : 1, size) ?: memory_lacks();
}

void check_failed(const char *cond, const char *file, int line) {
	fprintf(stderr, "heaptrack: internal error: %s:%d: check failed: %s; please report it\n", file,
			line, cond);
	abort();
}
