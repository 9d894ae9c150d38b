// SPDX-License-Identifier: MIT
/* Reading a recording, then naming its frames and applying suppressions. */
#include "session/session.h"

#include "engine/memory.h"
#include "session/open/parts.h"
#include "sys/clock.h"

enum { RULES_MAX_BYTES = 4 << 20, RC_MAX_BYTES = 1 << 20 };

static bool read_file(void *user, uint64_t offset, void *out, size_t n, size_t *got,
		struct err *err) {
	return file_read_at(*(const int *)user, offset, out, n, got, err);
}

static struct trace_source source_of(struct session *s) {
	return (struct trace_source){read_file, s->file_bytes, &s->fd};
}

/** Apply all rules: the user's first, then those of the program, then the built-in ones. */
static bool suppress(struct session *s, const struct session_options *o, struct err *err) {
	struct suppressions *rules = &s->suppressions;
	SCOPED(buffer) text = {0};
	if (o->suppressions && !file_read_whole(o->suppressions, &text, RULES_MAX_BYTES, err)) {
		return false;
	}
	suppressions_add(rules, buffer_view(&text), SUPPRESSION_FROM_FILE);
	if (!o->no_embedded) {
		suppressions_add(rules, buffer_view(&s->embedded), SUPPRESSION_EMBEDDED);
	}
	if (!o->no_built_in) {
		suppressions_add_built_in(rules);
	}
	buffer_slice(&s->complaints, buffer_view(&rules->complaints));
	suppressions_apply(rules, &s->recording);
	return true;
}

/** The rules of all modules, each text once. */
static void take_embedded(struct session *s) {
	const struct recording *r = &s->recording;
	for (uint32_t i = 1; i < r->modules.n; i++) {
		const uint32_t text = r->modules.items[i].suppressions;
		if (text != 0 && ALL(k, i, r->modules.items[k].suppressions != text)) {
			struct slice rules = r->strings.items[text];
			buffer_slice(&s->embedded, rules);
			buffer_text(&s->embedded, rules.data[rules.size - 1] == '\n' ? "" : "\n");
		}
	}
}

static bool read_recording(struct session *s, const struct import_options *options,
		struct err *err) {
	uint8_t head[64];
	size_t got;
	s->fd = file_open_regular(s->path, &s->file_bytes, err);
	if (s->fd < 0 || !file_read_at(s->fd, 0, head, sizeof head, &got, err)) {
		return false;
	}
	if (!trace_is_ours(slice_of(head, got))) {
		file_close(s->fd);
		s->fd = -1;
		return import_file(s->path, options, &s->recording, &s->embedded, err);
	}
	s->is_ours = true;
	struct trace_source source = source_of(s);
	if (!trace_read(&s->recording, &s->facts, &source, 0, err)) {
		return false;
	}
	take_embedded(s);
	return true;
}

// ---- whose code a frame is

/** Rules being read. What cannot be used gets a line in `complaints`; the rest holds. */
struct reading {
	struct naming_rules rules;
	struct arena arena; // of the rules
	struct buffer *complaints;
};

static void add_file(struct reading *rd, const char *folder, const char *name, const char *beside) {
	const char *path = arena_printf(&rd->arena, "%s/%s", folder, name);
	SCOPED(buffer) text = {0};
	struct err why = {0};
	if (file_read_found(path, beside, &text, RC_MAX_BYTES, &why)) {
		naming_rules_parse(&rd->rules, buffer_view(&text), path, &rd->arena, rd->complaints);
	} else {
		buffer_printf(rd->complaints, "%s; its rules are ignored\n", why.text);
	}
}

/**
 * Add the user's rules about whose code a frame is (engine/naming_rules.h): --fold, then
 * .heaptrackrc in the recording's folder, then heaptrackrc in $XDG_CONFIG_HOME, then .heaptrackrc
 * in the home folder. The first rule that matches decides. They may be someone else's.
 */
static void add_rules(struct reading *rd, const struct session *s,
		const struct session_options *o) {
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	for (uint32_t i = 0; i < o->n_folds; i++) {
		naming_rules_add(&rd->rules, NAMING_FOLD, slice_of_text(o->folds[i]), &rd->arena);
	}
	if (!s->is_stdin) {
		int folder = (int)(path_base_name(s->path) - s->path); // including its slash
		add_file(rd, folder ? FORMAT(PATH_MAX, "%.*s", folder - 1, s->path) : ".", ".heaptrackrc",
				s->path);
	}
	if (config && *config) {
		add_file(rd, config, "heaptrackrc", NULL);
	}
	if (home && *home) {
		add_file(rd, home, ".heaptrackrc", NULL);
	}
}

static void name_frames(struct session *s, const struct session_options *options) {
	struct reading rd = {.complaints = &s->complaints};
	add_rules(&rd, s, options);
	s->names = names_create(&s->recording, &rd.rules);
	if (s->recording.holders.n > 0) {
		held_add_stacks(&s->recording, s->names);
		names_destroy(s->names);
		s->names = names_create(&s->recording, &rd.rules);
	}
	vec_finish(&rd.rules);
	arena_finish(&rd.arena);
}

/** Make names fit for a terminal, before they are measured and cut. */
static void make_visible(struct recording *r) {
	SCOPED(buffer) shown = {0};
	EACH_THAT(s, r->strings, visible_differs(*s)) {
		buffer_clear(&shown);
		visible_put(&shown, *s);
		*s = slice_of(arena_text(&r->arena, buffer_view(&shown)), shown.size);
	}
}

/** What follows once the recording is read. */
static bool prepare(struct session *s, const struct session_options *options, struct err *err) {
	struct rec_meta *meta = &s->recording.meta;
	meta->wall_offset_s = clock_wall_offset_s(meta->wall_start_ns);
	s->recording.arena.max_bytes = 0; // the limit was for what the file asks for
	if (options->is_shown) {
		make_visible(&s->recording);
	}
	name_frames(s, options);
	return suppress(s, options, err);
}

static const struct session_options defaults;
static const struct session_options shown = {.is_shown = true};

const char *session_title(const struct session *s) {
	return s->is_stdin ? "standard input" : s->path;
}

bool session_open(struct session *s, const char *name, const struct session_options *options,
		struct err *err) {
	options = options ? options : &defaults;
	*s = (struct session){.fd = -1, .is_stdin = strcmp(name, "-") == 0};
	s->path = s->is_stdin ? spool_stdin(err) : find_recording(name, err);
	if (!s->path) {
		return false;
	}
	bool ok = (read_recording(s, options->import, err) || err_add(err, "%s", session_title(s))) &&
			prepare(s, options, err);
	if (!ok) {
		session_close(s);
	}
	return ok;
}

void session_of_recording(struct session *s, struct recording *r, const char *path) {
	*s = (struct session){.path = strdup(path) ?: memory_lacks(), .recording = *r, .fd = -1};
	*r = (struct recording){0};
	take_embedded(s);
	(void)prepare(s, &shown, NULL); // only rules in a file could make it fail
}

bool session_source(struct session *s, struct trace_source *out) {
	if (!s->is_ours || s->facts.n_events == 0) {
		return false;
	}
	*out = source_of(s);
	return true;
}

void session_close(struct session *s) {
	if (s && s->path) {
		names_destroy(s->names);
		recording_finish(&s->recording);
		CALL_FOR(buffer_finish, s, embedded, complaints);
		suppressions_finish(&s->suppressions);
		file_close(s->fd);
		free(s->path);
		*s = (struct session){0};
	}
}
