// SPDX-License-Identifier: MIT
/* Writes the page of a recording, or the one that opens any recording, as one file. */
#include "cli/print/html.h"

#include "sys/packer.h"
#include "web/page.h"

static bool read_source(void *user, uint32_t file, struct buffer *out) {
	const struct session *s = user;
	return source_read(&s->recording, file, NULL, out, NULL);
}

/** Without arguments, and of the programs that sentences name only the last part of their paths. */
static bool redact(struct recording *r, struct arena *arena, struct err *err) {
	struct slice *strings = arena_new(arena, struct slice, (size_t)r->strings.n + 1);
	if (!strings) {
		return err_memory(err);
	}
	memcpy(strings, r->strings.items, r->strings.n * sizeof *strings);
	r->strings.items = strings;
	r->meta.n_argv = 0;
	strings[r->meta.exe] = path_base(strings[r->meta.exe]);
	for (uint32_t i = 0; i < r->images.n; i++) {
		uint32_t exe = r->images.items[i].exe;
		strings[exe] = path_base(strings[exe]);
	}
	for (uint32_t i = 0; i < r->children.n; i++) {
		uint32_t exe = r->children.items[i].exe;
		strings[exe] = path_base(strings[exe]);
	}
	return true;
}

static bool make_page(const struct session *s, const struct session *before,
		const struct print_options *options, struct buffer *page, struct err *err) {
	struct buffer text = {0};
	struct arena arena = {0};
	struct report_options report = {.file = options->is_redacted ? NULL : session_title(s)};
	struct recording shown = s->recording, shown_base = before->recording; // share their tables
	bool ok = !options->is_redacted ||
			(redact(&shown, &arena, err) && (!before->path || redact(&shown_base, &arena, err)));
	ok = ok && report_text(&text, &shown, s->names, &report, err);
	struct page_base base = {&shown_base, before->names, {0}};
	if (before->path) {
		base.name = path_base(slice_of_text(before->path));
	}
	struct page_options o = {
			.text = buffer_view(&text),
			.is_redacted = options->is_redacted,
			.limit_bytes = options->html_limit,
			.source = options->with_source ? read_source : NULL,
			.user = (void *)(uintptr_t)s, // given back to read_source, which does not change it
			.base = before->path ? &base : NULL,
	};
	ok = ok && page_whole(page, &shown, s->names, &o, err);
	arena_finish(&arena);
	buffer_finish(&text);
	return ok;
}

bool print_html(const struct session *s, const struct print_options *options, struct err *err) {
	struct buffer page = {0};
	struct session before = {0};
	const struct compare_options *c = &options->compare;
	bool ok = c->n_bases == 0 || session_open_with(&before, c->bases[0], &options->session, err);
	ok = ok && make_page(s, &before, options, &page, err) &&
			packer_put(options->html, true, buffer_view(&page), err);
	buffer_finish(&page);
	session_close(&before);
	return ok;
}

bool print_viewer(const char *path, struct err *err) {
	struct buffer page = {0};
	bool ok = page_viewer(&page, err) && packer_put(path, true, buffer_view(&page), err);
	buffer_finish(&page);
	return ok;
}
