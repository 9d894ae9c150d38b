// SPDX-License-Identifier: MIT
/*
 * Symbolizes recordings: heaptrack_interpret, which is a filter, and heaptrack -i. Both open the
 * recording as a session, which adds names, and write it by an export.
 */
#include "cli/print/options.h"
#include "cli/record/options.h"

struct words {
	VEC(const char *);
};

struct interpret_options {
	struct symbols_options symbols;
	struct words debug_paths, extra_paths, files;
	const char *output;
};

// ---- options

static bool take_word(const struct option_given *g) {
	struct words *w = option_field(g);
	return vec_add(w, g->value);
}

#define AT(field) .at = offsetof(struct interpret_options, field)

static const struct option_row rows[] = {
#include "cli/record/interpret.def"
};

const struct option_table interpret_option_table = {
		.command = "heaptrack_interpret",
		.head = "Usage: heaptrack_interpret [options] < RAW > INTERPRETED\n"
				"       heaptrack --interpret FILE [options]\n"
				"\n"
				"Adds functions, files and lines to a recording that has addresses only.\n",
		OPTION_ROWS(rows),
};

/** argv[0] is the command. */
static bool parse(struct interpret_options *o, int argc, char **argv, struct err *err) {
	*o = (struct interpret_options){0};
	int operands = argc;
	bool ok = options_parse(&interpret_option_table, o, argc, argv, &operands, err);
	for (int i = operands; ok && i < argc; i++) {
		(void)vec_add(&o->files, argv[i]);
	}
	CALL_FOR(vec_push, o, debug_paths, extra_paths); // NULL ends them
	o->symbols.debug_paths = o->debug_paths.items;
	o->symbols.extra_paths = o->extra_paths.items;
	return ok;
}

// ---- one recording

static bool export_to(struct session *s, const char *format, const char *path, struct err *err) {
	struct lens whole = lens_whole();
	struct export_request request = {.session = s, .lens = &whole};
	struct export_job job = {.exporter = exporter_find(slice_of_text(format), NULL), .path = path};
	return export_file(&job, &request, err);
}

bool interpret_to_raw(const char *path, const char *raw_path, struct err *err) {
	const struct session_options options = {.no_embedded = true, .no_built_in = true};
	SCOPED_BY(session_close) struct session s;
	bool ok = session_open(&s, path, &options, err) &&
			export_to(&s, "heaptrack-raw", raw_path, err);
	if (ok && strcmp(path, raw_path) != 0) {
		(void)unlink(path);
	}
	return ok;
}

const char *interpret_name(char out[PATH_MAX], const char *path, const char *end) {
	static const char *const suffixes[] = {".zst", ".gz", ".raw"};
	struct slice base = slice_of_text(path);
	for (size_t i = 0; i < N_OF(suffixes); i++) {
		base.size -= ends_with(base, suffixes[i]) ? strlen(suffixes[i]) : 0;
	}
	(void)snprintf(out, PATH_MAX, "%.*s%s", SLICE_ARG(base), end);
	return out;
}

/** Rename an existing file: "x.zst" to "x.1.zst", or the next free number. */
static bool move_aside(const char *path, struct err *err) {
	struct stat s;
	char aside[PATH_MAX];
	if (lstat(path, &s) != 0) {
		return true;
	}
	bool ok = file_move(path, path, 1, aside, err);
	if (ok) {
		say_problem("heaptrack", "the existing \"%s\" was renamed \"%s\"", path, aside);
	}
	return ok;
}

static bool put_at(void *user, uint64_t offset, const void *data, size_t n, struct err *err) {
	return file_write_at(*(const int *)user, offset, data, n, err);
}

static uint64_t count_names(const struct recording *r) {
	return SUM(i, r->locations.n, r->locations.items[i].n_frames > 0);
}

/** Write heaptrack's own recording, with the names found, beside itself, then replace it. */
static bool name_ours(struct session *s, const struct symbols_options *symbols, const char *path,
		struct err *err) {
	uint64_t before = count_names(&s->recording);
	resolve_names(&s->recording, symbols);
	char temporary[PATH_MAX];
	(void)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
	CLOSED int fd = mkostemp(temporary, O_CLOEXEC);
	struct trace_source old;
	bool has_events = session_source(s, &old);
	bool ok = fd >= 0 || err_system(err, errno, "cannot write %s", path);
	ok = ok &&
			trace_write_whole((struct trace_sink){put_at, &fd}, &s->recording, NULL,
					has_events ? &old : NULL, err);
	struct stat was;
	if (ok && stat(s->path, &was) == 0) {
		(void)fchmod(fd, was.st_mode & 0777);
	}
	ok = ok && move_aside(path, err) &&
			(rename(temporary, path) == 0 || err_system(err, errno, "cannot write %s", path));
	if (!ok) {
		(void)unlink(temporary);
	} else {
		(void)fprintf(stderr,
				"heaptrack: symbolized %" PRIu64 " addresses; %" PRIu64 " had names before\n",
				count_names(&s->recording), before);
	}
	return ok;
}

static bool open_to_name(struct session *s, const char *file, const struct interpret_options *o,
		struct err *err) {
	const struct import_options import = {.symbols = &o->symbols};
	const struct session_options options = {.import = &import,
			.no_embedded = true,
			.no_built_in = true};
	return session_open(s, file, &options, err);
}

static bool interpret_file(const struct interpret_options *o, const char *file, struct err *err) {
	SCOPED_BY(session_close) struct session s;
	if (!open_to_name(&s, file, o, err)) {
		return false;
	}
	char named[PATH_MAX];
	bool ok;
	const char *own = o->output ? o->output
			: s.is_ours         ? s.path
								: interpret_name(named, s.path, ".zst");
	if (s.is_ours) {
		ok = name_ours(&s, &o->symbols, own, err);
	} else if (s.recording.meta.source != REC_FROM_KDE) {
		ok = err_usage(err, "%s: not a recording that can be symbolized", s.path);
	} else if (strcmp(own, s.path) == 0) {
		ok = err_usage(err, "%s: already symbolized", s.path);
	} else {
		ok = export_to(&s, "heaptrack", own, err);
	}
	if (ok) {
		say(stderr,
				"Now run the following to investigate the data:\n"
				"  heaptrack --analyze \"%s\"\n",
				VISIBLE_NAME(own));
	}
	return ok;
}

/** What the two commands share. */
static int interpret(int argc, char **argv, const char *who,
		bool (*run)(const struct interpret_options *o, struct err *err)) {
	struct interpret_options o;
	struct err err = {0};
	memory_must(who, EXIT_FAILURE);
	bool ok = parse(&o, argc, argv, &err) && run(&o, &err);
	if (!ok) {
		say_problem(who, "%s", err.text);
	}
	CALL_FOR(vec_finish, &o, debug_paths, extra_paths, files);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool interpret_files(const struct interpret_options *o, struct err *err) {
	return (o->files.n > 0 ||
				   err_usage(err, "no recording given; usage: heaptrack --interpret FILE")) &&
			ALL(i, o->files.n, interpret_file(o, o->files.items[i], err));
}

int cli_interpret_files(int argc, char **argv) {
	return interpret(argc, argv, "heaptrack", interpret_files);
}

// ---- the filter

static bool filter(const struct interpret_options *o, struct err *err) {
	SCOPED_BY(session_close) struct session s;
	bool ok = open_to_name(&s, "-", o, err) && export_to(&s, "heaptrack", "-", err);
	if (ok) {
		const struct rec_summary *sums = &s.recording.summary;
		(void)fprintf(stderr,
				"heaptrack stats:\n"
				"\tallocations:          \t%" PRIu64 "\n"
				"\tleaked allocations:   \t%" PRIu64 "\n"
				"\ttemporary allocations:\t%" PRIu64 "\n",
				sums->allocations, sums->live_blocks, sums->temporary);
	}
	return ok;
}

// Words that are not options have always been ignored
int cli_interpret(int argc, char **argv) {
	return interpret(argc, argv, "heaptrack_interpret", filter);
}
