// SPDX-License-Identifier: MIT
/* The command heaptrack_print: opens recordings, and prints one report or writes one page. */
#include "cli/print/options.h"
#include "sys/unpack.h"

// ---- the page: --html and --viewer

static bool read_source(void *user, uint32_t file, struct buffer *out) {
	const struct session *s = user;
	return source_read(&s->recording, file, NULL, out, NULL);
}

#define KEEP_NAMES(strings, rows) \
	EACH(row, rows)               \
	(strings)[row->exe] = path_base((strings)[row->exe])

/** Drops arguments, and the folders of programs that sentences name. */
static void redact(struct recording *r, struct arena *arena) {
	struct slice *strings = arena_new(arena, struct slice, (size_t)r->strings.n + 1);
	if (r->strings.n > 0) {
		memcpy(strings, r->strings.items, r->strings.n * sizeof *strings);
	}
	r->strings.items = strings;
	r->meta.n_argv = 0;
	strings[r->meta.exe] = path_base(strings[r->meta.exe]);
	KEEP_NAMES(strings, r->images);
	KEEP_NAMES(strings, r->children);
	KEEP_NAMES(strings, r->commands);
}

static bool make_page(const struct session *s, const struct session *before,
		const struct print_options *options, struct buffer *page, struct err *err) {
	SCOPED(buffer) text = {0};
	SCOPED(arena) arena = {0};
	struct report_options report = {.file = options->is_redacted ? NULL : session_title(s)};
	struct recording shown = s->recording,
					 shown_base = before->recording; // share the sessions' tables
	if (options->is_redacted) {
		redact(&shown, &arena);
		redact(&shown_base, &arena);
	}
	report_text(&text, &shown, s->names, &report);
	struct page_base base = {&shown_base, before->names, before->path};
	struct page_options o = {
			.text = buffer_view(&text),
			.blob = {.is_redacted = options->is_redacted,
					.source = options->with_source ? read_source : NULL,
					.user = (void *)(uintptr_t)s}, // for read_source, which does not change it
			.limit_bytes = options->html_limit,
			.base = before->path ? &base : NULL,
	};
	return page_whole(page, &shown, s->names, &o, err);
}

/**
 * Write the page to options->html, compared with the first of options->compare.bases if there is
 * one. False: `err` says why; no file is left half written.
 */
static bool print_html(const struct session *s, const struct print_options *options,
		struct err *err) {
	SCOPED(buffer) page = {0};
	SCOPED_BY(session_close) struct session before = {0};
	const struct compare_options *c = &options->compare;
	bool ok = c->n_bases == 0 || session_open(&before, c->bases[0], &options->session, err);
	return ok && make_page(s, &before, options, &page, err) &&
			packer_put(options->html, PACKER_PLAIN, buffer_view(&page), err);
}

/** Write the page that opens any recording to `path`. */
static bool print_viewer(const char *path, struct err *err) {
	SCOPED(buffer) page = {0};
	return page_viewer(&page, err) && packer_put(path, PACKER_PLAIN, buffer_view(&page), err);
}

// ---- reports

/**
 * Write it all to stdout: JSON as it is, text without what a terminal would obey. That a reader
 * went away (a closed pipe) is no failure. `user`: the print_options.
 */
static bool put_out(void *user, struct buffer *out, struct err *err) {
	bool is_json = ((const struct print_options *)user)->is_json;
	bool ok = !is_json      ? say_text(stdout, buffer_view(out))
			: out->size > 0 ? fwrite(out->data, 1, out->size, stdout) == out->size
							: true;
	buffer_clear(out);
	return (ok && fflush(stdout) == 0) || errno == EPIPE ||
			err_system(err, errno, "cannot write to standard output");
}

static bool put_view(struct buffer *out, const struct session *s, const struct print_options *o,
		const struct report_options *report, struct err *err) {
	SCOPED(arena) arena = {0};
	struct lens lens = lens_whole();
	bool ok = !o->lens || lens_parse(&lens, slice_of_text(o->lens), &s->recording, &arena, err);
	lens.metric = print_metric(o, lens.metric);
	struct recording r = s->recording;
	if (!o->lens && !metric_is_known(lens.metric, r.missing)) {
		lens.metric = LENS_NEVER_FREED; // a profile of what is live
	}
	ok = ok &&
			(metric_is_known(lens.metric, r.missing) ||
					err_usage(err, "lens: m=%s is not in this file",
							lens_metric_names[lens.metric])) &&
			(o->view == VIEW_TIMELINE ||
					memory_as_recording(&s->recording, &lens, &arena, &r, err));
	lens.group = o->group >= 0 ? (enum lens_group)o->group : lens.group;
	struct view_request request = {
			FIELDS_OF(o, view, by, depth),
			.lens = &lens,
			.of = slice_of_text(o->of ? o->of : ""),
	};
	return ok &&
			(o->is_json ? report_view_json : report_view)(out, &r, s->names, report, &request, err);
}

static bool put_report(struct buffer *out, const struct session *s, const struct print_options *o,
		struct err *err) {
	struct report_options report = {
			.file = o->is_json ? session_title(s) : VISIBLE_NAME(session_title(s)),
			.width = terminal_columns_behind(STDOUT_FILENO, REPORT_WIDTH),
			.height = terminal_lines(STDOUT_FILENO),
			.limit = o->limit,
			.drain = put_out,
			.user = (void *)(uintptr_t)o, // put_out does not change it
	};
	if (o->layout == LAYOUT_VIEW) {
		return put_view(out, s, o, &report, err);
	}
	if (o->is_json) {
		return report_json(out, &s->recording, s->names, &report, err);
	}
	if (o->layout == LAYOUT_CLASSIC) {
		report_classic(out, &s->recording, s->names, &report, &o->classic);
	} else {
		report_text(out, &s->recording, s->names, &report);
	}
	return true;
}

/** --html and the exports, under the lens. */
static bool put_files(struct session *s, const struct print_options *o, struct err *err) {
	SCOPED(arena) arena = {0};
	struct lens lens = lens_whole();
	struct export_request request = {.session = s, .lens = &lens};
	return (!o->html || print_html(s, o, err)) &&
			(!o->lens || lens_parse(&lens, slice_of_text(o->lens), &s->recording, &arena, err)) &&
			export_all(&o->exports, &request, err);
}

static bool print_page(const struct print_options *o, struct err *err) {
	SCOPED_BY(session_close) struct session s;
	return session_open(&s, o->file, &o->session, err) && print_html(&s, o, err);
}

/** Compare or judge recordings. *is_broken: a gate failed. */
static bool print_comparison(const struct print_options *o, bool *is_broken, struct err *err) {
	SCOPED(buffer) out = {0};
	return compare_run(o, &out, is_broken, err) && (!o->html || print_page(o, err)) &&
			put_out((void *)(uintptr_t)o, &out, err);
}

static bool print(struct print_options *o, struct err *err) {
	SCOPED_BY(session_close) struct session s;
	if (!session_open(&s, o->file, &o->session, err)) {
		return false;
	}
	(void)say_text(stderr, buffer_view(&s.complaints));
	if (o->outputs.n) {
		bool is_written = outputs_spare(&o->outputs, &s, 1, err) && put_files(&s, o, err);
		bool is_all = o->html || o->exports.has_new;
		if (!is_written || is_all) {
			return is_written;
		}
	}
	SCOPED(buffer) out = {0};
	bool ok = put_report(&out, &s, o, err);
	if (ok && o->shows_suppressions && !o->is_json) {
		report_suppressions(&out, &s.suppressions);
	}
	return ok && put_out(o, &out, err);
}

int cli_print(int argc, char **argv) {
	memory_must("heaptrack_print", 1);
	struct print_options o;
	struct err err = {0};
	bool is_broken = false;
	bool ok = print_options_parse(&o, argc, argv, &err) &&
			(o.viewer                                      ? print_viewer(o.viewer, &err)
							: compare_is_asked(&o.compare) ? print_comparison(&o, &is_broken, &err)
														   : print(&o, &err));
	if (!ok) {
		say_problem("heaptrack_print", "%s", err.text);
		return EXIT_FAILURE;
	}
	return is_broken ? EXIT_GATE : EXIT_SUCCESS;
}
