// SPDX-License-Identifier: MIT
/* Prints for people: text with its control characters replaced. */
#include "cli/cli.h"

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

/** In a function of fmt and "...": the text, as printf makes it, malloc'ed. NULL: no memory. */
#define TEXT_OF(fmt)                              \
	({                                            \
		char *text_;                              \
		va_list args_;                            \
		va_start(args_, fmt);                     \
		int n_ = vasprintf(&text_, (fmt), args_); \
		va_end(args_);                            \
		n_ >= 0 ? text_ : NULL;                   \
	})

void say(FILE *to, const char *fmt, ...) {
	FREED char *text = TEXT_OF(fmt);
	(void)(text && say_text(to, slice_of_text(text)));
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
	FREED char *text = TEXT_OF(fmt);
	SCOPED(buffer) line = {0};
	buffer_printf(&line, "%s: ", who);
	visible_put(&line, slice_of_text(text ? text : "out of memory"));
	buffer_u8(&line, '\n');
	(void)fwrite(line.data, 1, line.size, stderr); // at once: others write to this terminal too
}
