// SPDX-License-Identifier: MIT
/* Prints for people: text with its control characters replaced. */
#include "cli/cli.h"

#include <errno.h>
#include <unistd.h>

bool say_text(FILE *to, struct slice text) {
	struct buffer shown = {0};
	visible_put_lines(&shown, text);
	errno = shown.failed ? ENOMEM : 0;
	bool ok = !shown.failed &&
			(shown.size == 0 || fwrite(shown.data, 1, shown.size, to) == shown.size);
	int why = errno;
	buffer_finish(&shown);
	errno = why;
	return ok;
}

void say(FILE *to, const char *fmt, ...) {
	char *text;
	va_list args;
	va_start(args, fmt);
	int n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n >= 0) {
		(void)say_text(to, slice_of(text, (size_t)n));
		free(text);
	}
}

void say_copy(FILE *to, const char *before, const char *path) {
	char folder[4096] = "", host[256] = "HOST";
	const char *user = getenv("USER");
	bool is_relative = path[0] != '/' && getcwd(folder, sizeof folder);
	(void)gethostname(host, sizeof host - 1);
	say(to, "%sscp \"%s%s%s:%s%s%s\" .\n", before, user ? user : "", user ? "@" : "", host, folder,
			is_relative ? "/" : "", VISIBLE_NAME(path));
}

void say_problem(const char *who, const char *fmt, ...) {
	char *text;
	va_list args;
	va_start(args, fmt);
	int n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0) {
		(void)fprintf(stderr, "%s: out of memory\n", who);
		return;
	}
	SCOPED(buffer) line = {0};
	buffer_printf(&line, "%s: ", who);
	visible_put(&line, slice_of(text, (size_t)n));
	buffer_u8(&line, '\n');
	(void)fwrite(line.data, 1, line.size, stderr); // at once: others write to this terminal too
	free(text);
}
