// SPDX-License-Identifier: MIT
/* Reads and writes the text of a lens: words joined by '&', values percent-encoded. */
#include "engine/lens/parts.h"

const char *const lens_grade_names[REC_GRADES] = {
		[REC_HELD] = "held",
		[REC_HELD_INSIDE] = "held_inside",
		[REC_DISGUISED] = "disguised",
		[REC_UNREACHABLE] = "unreachable",
		[REC_OWNED] = "owned",
		[REC_CYCLE] = "cycle",
};

// ---- reading

struct reader {
	struct lens *lens;
	const struct recording *recording;
	struct arena *arena;
	struct err *err;
	// Capacity: one per word at most
	struct lens_text *texts;
	struct slice *focus, *hide, *threads, *processes;
};

/** Decode the value, into the arena. */
static bool decode(struct reader *rd, struct slice value, struct slice *out) {
	uint8_t *text = arena_new(rd->arena, uint8_t, value.size + 1);
	size_t n = 0;
	for (size_t i = 0; i < value.size; i++) {
		if (value.data[i] != '%') {
			text[n++] = value.data[i];
			continue;
		}
		int high = i + 2 < value.size ? hex_digit(value.data[i + 1]) : -1;
		int low = i + 2 < value.size ? hex_digit(value.data[i + 2]) : -1;
		if (high < 0 || low < 0) {
			return err_usage(rd->err,
					"%% must be followed by two hexadecimal digits; write %% itself as %%25");
		}
		text[n++] = (uint8_t)(high << 4 | low);
		i += 2;
	}
	*out = slice_of(text, n);
	return true;
}

static bool read_choice(struct slice value, const char *const *names, unsigned n, unsigned *out,
		struct err *err) {
	SCOPED(buffer) list = {0};
	for (unsigned i = 0; i < n; i++) {
		if (slice_is(value, names[i])) {
			*out = i;
			return true;
		}
		buffer_printf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	return err_usage(err, "use one of: %.*s", SLICE_ARG(buffer_view(&list)));
}

/** Percent signs mean shares, except in the name of a mark. */
static bool read_time(struct reader *rd, struct slice value) {
	static const char mark[] = "mark:";
	struct slice text = value;
	bool has_mark = memmem(value.data, value.size, mark, sizeof mark - 1);
	rd->lens->time = value;
	return (!has_mark || decode(rd, value, &text)) &&
			lens_time_parse(rd->lens, text, rd->recording, rd->err);
}

static bool read_text(struct reader *rd, struct slice value) {
	if (rd->lens->n_texts == LENS_TEXTS_MAX) {
		return err_limit(rd->err, "at most %d texts", LENS_TEXTS_MAX);
	}
	struct lens_text *t = &rd->texts[rd->lens->n_texts];
	*t = (struct lens_text){0};
	if (value.size && value.data[0] == '!') {
		t->is_negated = true;
		value = slice_from(value, 1);
	}
	if (value.size > 2 && value.data[0] == '/' && value.data[value.size - 1] == '/') {
		t->is_regex = true;
		value = slice_of(value.data + 1, value.size - 2);
	}
	if (!decode(rd, value, &t->text)) {
		return false;
	}
	if (t->text.size == 0) {
		return err_usage(rd->err, "use TEXT, /EXPRESSION/, !TEXT or !/EXPRESSION/");
	}
	rd->lens->n_texts++;
	return !t->is_regex || lens_pattern_is_valid(t->text, rd->err);
}

static bool read_name(struct reader *rd, struct slice value, struct slice *names, uint32_t *n) {
	return decode(rd, value, &names[*n]) &&
			(names[(*n)++].size > 0 || err_usage(rd->err, "a function's name"));
}

static bool read_list(struct reader *rd, struct slice value, struct slice *names, uint32_t *n) {
	for (bool is_last = false; !is_last;) {
		const struct slice name = before_first(value, ',');
		is_last = name.size == value.size;
		if (!decode(rd, name, &names[(*n)++])) {
			return false;
		}
		value = slice_from(value, name.size + !is_last);
	}
	return true;
}

static bool read_processes(struct reader *rd, struct slice value) {
	struct lens *l = rd->lens;
	const uint32_t first = l->n_processes;
	const struct recording *r = rd->recording;
	if (r->processes.n == 0) {
		return err_usage(rd->err,
				"one process was recorded; to record all that it "
				"starts, use heaptrack --children");
	}
	return read_list(rd, value, rd->processes, &l->n_processes) &&
			(ALL(k, l->n_processes - first, lens_has_process(r, rd->processes[first + k])) ||
					err_usage(rd->err,
							"no such process, or its stacks are not told apart from those of "
							"others; --processes lists processes and their commands"));
}

static bool read_grades(struct reader *rd, struct slice value) {
	unsigned grade = 0;
	for (struct slice word; take_part(&value, ',', &word);) {
		if (!read_choice(word, lens_grade_names, REC_GRADES, &grade, rd->err)) {
			return false;
		}
		rd->lens->grades |= 1u << grade;
	}
	return true;
}

static bool read_fold(struct reader *rd, struct slice value) {
	static const char *const answers[] = {"0", "1"};
	unsigned choice = 1;
	bool ok = read_choice(value, answers, 2, &choice, rd->err);
	rd->lens->is_unfolded = choice == 0;
	return ok;
}

static bool read_word(struct reader *rd, struct slice key, struct slice value) {
	struct lens *l = rd->lens;
#define IS(name) slice_is(key, name)
	return IS("m") ? read_choice(value, lens_metric_names, N_LENS_METRICS, &l->metric, rd->err)
			: IS("group") ? read_choice(value, lens_group_names, N_LENS_GROUPS, &l->group, rd->err)
			: IS("fold")  ? read_fold(rd, value)
			: IS("t")     ? read_time(rd, value)
			: IS("q")     ? read_text(rd, value)
			: IS("focus") ? read_name(rd, value, rd->focus, &l->n_focus)
			: IS("hide")  ? read_name(rd, value, rd->hide, &l->n_hide)
			: IS("grade") ? read_grades(rd, value)
			: IS("process") ? read_processes(rd, value)
			: IS("threads")
			? read_list(rd, value, rd->threads, &l->n_threads)
			: err_usage(rd->err,
					  "unknown term; use m, t, q, focus, hide, fold, threads, process, grade or "
					  "group");
}

static size_t count(struct slice s, uint8_t c) {
	return SUM(i, s.size, s.data[i] == c);
}

static void reader_init(struct reader *rd, struct slice text) {
	size_t words = count(text, '&') + 1;
	rd->texts = arena_new(rd->arena, struct lens_text, words);
	rd->focus = arena_new(rd->arena, struct slice, words);
	rd->hide = arena_new(rd->arena, struct slice, words);
	rd->threads = arena_new(rd->arena, struct slice, words + count(text, ','));
	rd->processes = arena_new(rd->arena, struct slice, words + count(text, ','));
}

static bool read_words(struct reader *rd, struct slice text) {
	for (struct slice word, key; take_part(&text, '&', &word);) {
		struct slice value = word;
		if (!take_part(&value, '=', &key)) {
			continue;
		}
		if (key.size == word.size) {
			return err_usage(rd->err, "lens: \"%.*s\": invalid term; use NAME=VALUE",
					SLICE_ARG(word));
		}
		if (!read_word(rd, key, value)) {
			return err_add(rd->err, "lens: \"%.*s\"", SLICE_ARG(word));
		}
	}
	return true;
}

bool lens_parse(struct lens *l, struct slice text, const struct recording *r, struct arena *arena,
		struct err *err) {
	*l = lens_whole();
	struct reader rd = {.lens = l, .recording = r, .arena = arena, .err = err};
	reader_init(&rd, text);
	COPY_FIELDS(l, &rd, texts, focus, hide, threads, processes);
	if (!read_words(&rd, text)) {
		return false;
	}
	l->metric = l->grades && l->metric == LENS_PEAK ? LENS_GRADED : l->metric;
	const uint8_t of = lens_metrics[l->metric].of;
	return !l->grades || of == METRIC_OF_GRADED || of == METRIC_OF_UNREACHABLE ||
			err_usage(err, "lens: m=%s has no grades; use m=graded or m=unreachable",
					lens_metric_names[l->metric]);
}

bool lens_time_of(struct lens *l, const struct recording *r, struct arena *arena, struct err *err) {
	struct reader rd = {.lens = l, .recording = r, .arena = arena, .err = err};
	return l->time.size == 0 || read_time(&rd, l->time);
}

// ---- writing

void lens_put_encoded(struct buffer *out, struct slice s, const char *plain) {
	for (size_t i = 0; i < s.size; i++) {
		uint8_t c = s.data[i];
		bool is_plain = is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
				(c && strchr(plain, c));
		buffer_printf(out, is_plain ? "%c" : "%%%02X", c);
	}
}

static void put_encoded(struct buffer *out, struct slice s) {
	lens_put_encoded(out, s, "-._~!*()/:;@$?[]{}|^\\<>");
}

static void put_key(struct buffer *out, const char *key) {
	buffer_printf(out, "%s%s=", out->size ? "&" : "", key);
}

static void put_next(struct buffer *out, const char *key, bool is_further) {
	if (is_further) {
		buffer_u8(out, ',');
	} else {
		put_key(out, key);
	}
}

static void put_text(struct buffer *out, const struct lens_text *t) {
	const char *slash = t->is_regex ? "/" : "";
	struct slice s = t->text;
	put_key(out, "q");
	buffer_printf(out, "%s%s", t->is_negated ? "!" : "", slash);
	// A plain text may look like an expression or a negation
	if (!t->is_regex && s.size && (s.data[0] == '/' || s.data[0] == '!')) {
		buffer_printf(out, "%%%02X", s.data[0]);
		s = slice_from(s, 1);
	}
	put_encoded(out, s);
	buffer_text(out, slash);
}

/** Behind one key, or behind one each. */
static void put_names(struct buffer *out, const char *key, const struct slice *names, uint32_t n,
		bool is_list) {
	for (uint32_t i = 0; i < n; i++) {
		put_next(out, key, is_list && i > 0);
		put_encoded(out, names[i]);
	}
}

struct slice lens_text(const struct lens *l, const struct recording *r, struct arena *arena) {
	SCOPED(buffer) out = {0};
	if (l->metric != LENS_PEAK) {
		put_key(&out, "m");
		buffer_text(&out, lens_metric_names[l->metric]);
	}
	if (l->time.size && lens_metrics[l->metric].of >= METRIC_OF_GRADED) {
		put_key(&out, "t");
		buffer_slice(&out, l->time);
	} else if (l->has_range) {
		put_key(&out, "t");
		lens_time_put(&out, l, r);
	}
	for (uint32_t i = 0; i < l->n_texts; i++) {
		put_text(&out, &l->texts[i]);
	}
	put_names(&out, "focus", l->focus, l->n_focus, false);
	put_names(&out, "hide", l->hide, l->n_hide, false);
	if (l->is_unfolded) {
		put_key(&out, "fold");
		buffer_text(&out, "0");
	}
	put_names(&out, "threads", l->threads, l->n_threads, true);
	put_names(&out, "process", l->processes, l->n_processes, true);
	EACH_NUMBER(i, REC_GRADES, l->grades & 1u << i) {
		put_next(&out, "grade", l->grades & ((1u << i) - 1));
		buffer_text(&out, lens_grade_names[i]);
	}
	if (l->group != LENS_BY_FUNCTION) {
		put_key(&out, "group");
		buffer_text(&out, lens_group_names[l->group]);
	}
	return slice_of(arena_text(arena, buffer_view(&out)), out.size);
}
