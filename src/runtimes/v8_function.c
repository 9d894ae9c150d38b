// SPDX-License-Identifier: MIT
/*
 * The names of functions.
 *
 * A SharedFunctionInfo, one for each function in the source, has a string, or a ScopeInfo, whose
 * parts follow each other as its flags say:
 *
 *   flags, parameters, n, (start, end), (a module's number), n names or one table, n infos,
 *   (class variable), (name, slot), (inferred name), (start, end), ...
 *
 * What has no name in these may have one in the source: `X.y = function`, `y: function`, `[x]()`.
 */
#include "runtimes/v8_function.h"

enum {
	MAX_NAME = 256,
	MAX_FILE = 4096,
	MAX_INLINE_NAMES = 75, // so many names of variables or more stand in a table of their own
	FIRST_SLOT = 8,
	MAX_LOOK_BACK = 512, // characters before a function
};

// Flags of a ScopeInfo
enum {
	SCOPE_TYPE = 0xf,
	HAS_CLASS_VARIABLE = 1 << 10,
	HAS_NAME = 3 << 12,
	HAS_INFERRED_NAME = 1 << 14,
	KIND_SHIFT = 17,
	KIND_MASK = 0x1f,
};

// Kinds of functions that are none in the source
enum { INSTANCE_MEMBERS = 24, STATIC_MEMBERS = 25 };

struct scope {
	uint64_t name, inferred; // words; 0: none
	int32_t start, end;      // -1: not known
	uint32_t kind;
};

static bool scope_slot(struct v8_heap *h, uint64_t scope, int64_t slot, uint64_t *out) {
	return v8_word(h, scope, FIRST_SLOT + 8 * slot, out);
}

/** The flags: a number in a word, or 32 bits of one. */
static bool scope_flags(struct v8_heap *h, uint64_t scope, uint32_t *out) {
	uint64_t word;
	if (!scope_slot(h, scope, 0, &word)) {
		return false;
	}
	*out = (uint32_t)((word & UINT32_MAX) == 0 ? word >> 32 : word);
	return true;
}

static bool read_scope(struct v8_heap *h, uint64_t scope, struct scope *out) {
	const struct v8_layout *l = h->layout;
	uint32_t flags;
	int32_t n;
	*out = (struct scope){.start = -1};
	if (!scope_flags(h, scope, &flags) ||
			!v8_number(h, scope, FIRST_SLOT + 8 * (int64_t)l->scope_n_locals, &n) || n < 0) {
		return false;
	}
	out->kind = flags >> KIND_SHIFT & KIND_MASK;
	int64_t at = l->scope_first_names;
	at += (int32_t)(flags & SCOPE_TYPE) == l->scope_module;
	at += n < MAX_INLINE_NAMES ? n : 1;
	at += n;
	at += (flags & HAS_CLASS_VARIABLE) != 0;
	if (flags & HAS_NAME) {
		(void)scope_slot(h, scope, at, &out->name);
		at += 2;
	}
	if (flags & HAS_INFERRED_NAME) {
		(void)scope_slot(h, scope, at++, &out->inferred);
	}
	int64_t start = l->scope_start ?: at;
	if (!v8_number(h, scope, FIRST_SLOT + 8 * start, &out->start)) {
		out->start = -1;
	}
	if (!v8_number(h, scope, FIRST_SLOT + 8 * (start + 1), &out->end)) {
		out->end = -1; // nor is that the start
	}
	return true;
}

bool v8_shared_of(struct v8_heap *h, uint64_t object, struct v8_shared *out) {
	const struct v8_layout *l = h->layout;
	*out = (struct v8_shared){.object = object, .start = -1, .end = -2};
	if (!v8_is_type(h, &out->object, l->type_shared)) {
		return false;
	}
	uint64_t script, name;
	struct scope scope;
	if (v8_word(h, out->object, l->shared_script, &script) &&
			v8_is_type(h, &script, l->type_script)) {
		out->script = script;
	}
	if (v8_word(h, out->object, l->shared_name, &name) && v8_is_type(h, &name, l->type_scope) &&
			read_scope(h, name, &scope)) {
		out->start = scope.start;
		out->end = scope.end;
	}
	return true;
}

bool v8_shared_of_function(struct v8_heap *h, uint64_t function, struct v8_shared *out) {
	int32_t type;
	uint64_t shared;
	return v8_type(h, &function, &type) && type >= h->layout->type_first_function &&
			type <= h->layout->type_last_function &&
			v8_word(h, function, h->layout->function_shared, &shared) &&
			v8_shared_of(h, shared, out);
}

// ---- names from the source

struct source {
	struct v8_heap *heap;
	struct v8_chars chars;
	struct v8_window window;
	uint32_t end; // looks at what stands before
};

static uint32_t before(struct source *s) {
	uint32_t c;
	return s->end > 0 && v8_char(s->heap, &s->chars, &s->window, s->end - 1, &c) ? c : 0;
}

static bool is_space(uint32_t c) {
	return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0;
}

static bool is_of_name(uint32_t c) {
	return c >= 0x80 || c == '$' || c == '_' || (c >= '0' && c <= '9') ||
			((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static void pass_spaces(struct source *s) {
	while (is_space(before(s))) {
		s->end--;
	}
}

/** Steps over `word` if it comes before, and over what separates it. */
static bool skip_word(struct source *s, const char *word) {
	uint32_t end = s->end;
	for (size_t i = strlen(word); i > 0; i--, s->end--) {
		if (before(s) != (uint32_t)(uint8_t)word[i - 1]) {
			s->end = end;
			return false;
		}
	}
	if (is_of_name((uint32_t)(uint8_t)word[0]) && is_of_name(before(s))) {
		s->end = end;
		return false;
	}
	pass_spaces(s);
	return true;
}

/** The characters of the source between two places. */
static void put_source(struct source *s, uint32_t from, uint32_t to, struct buffer *out) {
	for (uint32_t c; from < to && v8_char(s->heap, &s->chars, &s->window, from, &c); from++) {
		buffer_u8(out, c < 0x80 ? (uint8_t)c : '?');
	}
}

/** Steps to the start of `a.b.c`. */
static bool skip_path(struct source *s) {
	uint32_t end = s->end;
	uint32_t least = end > MAX_NAME ? end - MAX_NAME : 0;
	while (s->end > least && (is_of_name(before(s)) || before(s) == '.' || before(s) == '#')) {
		s->end--;
	}
	return s->end < end;
}

/** Steps to the `[` of a computed name. */
static bool skip_brackets(struct source *s) {
	uint32_t least = s->end > MAX_NAME ? s->end - MAX_NAME : 0;
	for (int depth = 0; s->end > least; s->end--) {
		depth += before(s) == ']' ? 1 : before(s) == '[' ? -1 : 0;
		if (depth == 0) {
			s->end--;
			return true;
		}
	}
	return false;
}

/** What the function is assigned to, or is an argument of. */
static bool name_from_source(struct source *s, struct buffer *out) {
	pass_spaces(s);
	uint32_t end = s->end;
	if (before(s) == ']' && skip_brackets(s)) { // [x]() {}
		put_source(s, s->end, end, out);
		return true;
	}
	(void)skip_word(s, "*");
	(void)skip_word(s, "function");
	(void)skip_word(s, "async");
	uint32_t what = before(s);
	if (what != '=' && what != ':' && what != '(') {
		return false;
	}
	s->end--;
	while (what == '=' && (before(s) == '?' || before(s) == '|' || before(s) == '&')) {
		s->end--; // ??=, ||=, &&=
	}
	pass_spaces(s);
	end = s->end;
	if (!skip_path(s)) {
		return false;
	}
	if (what == '(') {
		buffer_text(out, "(anonymous, in ");
	}
	put_source(s, s->end, end, out);
	buffer_text(out, what == '(' ? ")" : "");
	return true;
}

// ---- names

/** Code of eval or new Function: its script has no name. */
static bool is_eval(struct v8_heap *h, const struct v8_shared *s) {
	uint64_t name;
	int32_t type;
	return s->script && v8_word(h, s->script, h->layout->script_name, &name) &&
			v8_type(h, &name, &type) && type >= h->layout->type_first_nonstring;
}

static bool put_source_name(struct v8_heap *h, const struct v8_shared *s, const struct scope *scope,
		struct buffer *out) {
	struct source source = {.heap = h, .end = (uint32_t)scope->start};
	uint64_t text;
	return scope->start > 0 && s->script &&
			v8_word(h, s->script, h->layout->script_source, &text) &&
			v8_string_chars(h, text, &source.chars) && name_from_source(&source, out);
}

static enum v8_name_from scope_name(struct v8_heap *h, const struct v8_shared *s,
		const struct scope *scope, struct buffer *out) {
	if (scope->kind == INSTANCE_MEMBERS || scope->kind == STATIC_MEMBERS) {
		buffer_text(out,
				scope->kind == STATIC_MEMBERS ? "<static_initializer>"
											  : "<instance_members_initializer>");
		return V8_NAME;
	}
	if (v8_string(h, scope->name, MAX_NAME, out) && out->size > 0) {
		return V8_NAME;
	}
	buffer_clear(out);
	if (v8_string(h, scope->inferred, MAX_NAME, out) && out->size > 0) {
		return V8_INFERRED;
	}
	buffer_clear(out);
	return put_source_name(h, s, scope, out) ? V8_SOURCE : V8_UNNAMED;
}

enum v8_name_from v8_function_name(struct v8_heap *h, const struct v8_shared *s,
		struct buffer *out) {
	uint64_t word;
	struct scope scope;
	enum v8_name_from from = V8_UNNAMED;
	buffer_clear(out);
	if (!v8_word(h, s->object, h->layout->shared_name, &word)) {
		return from;
	}
	if (!v8_is_type(h, &word, h->layout->type_scope)) {
		from = v8_string(h, word, MAX_NAME, out) && out->size > 0 ? V8_NAME : V8_UNNAMED;
	} else if (read_scope(h, word, &scope)) {
		from = scope_name(h, s, &scope, out);
	}
	if (from != V8_UNNAMED) {
		return from;
	}
	buffer_clear(out);
	if (is_eval(h, s)) {
		buffer_text(out, "eval");
		return V8_NAME;
	}
	return V8_UNNAMED;
}

// ---- scripts

bool v8_script_name(struct v8_heap *h, uint64_t script, struct buffer *out) {
	uint64_t name;
	return v8_word(h, script, h->layout->script_name, &name) && v8_string(h, name, MAX_FILE, out) &&
			out->size > 0;
}

/** The ends of the lines of a source, as far as it can be read. */
static void read_lines(struct v8_heap *h, uint64_t source, struct v8_script *out) {
	struct v8_chars chars;
	struct v8_window w = {0};
	if (!v8_string_chars(h, source, &chars)) {
		return;
	}
	for (uint32_t c, last = 0; v8_char(h, &chars, &w, out->n_read, &c); out->n_read++, last = c) {
		bool is_end = c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029;
		if (c == '\n' && last == '\r' && out->ends.n > 0) {
			out->ends.n--; // they are one
		}
		if (is_end && !vec_add(&out->ends, out->n_read)) {
			return;
		}
	}
}

int32_t v8_script_of(struct v8_heap *h, uint64_t script) {
	const struct v8_layout *l = h->layout;
	uint64_t source;
	int32_t id, first_line;
	if (!v8_number(h, script, l->script_id, &id) ||
			!v8_number(h, script, l->script_line_offset, &first_line) ||
			!v8_word(h, script, l->script_source, &source)) {
		return -1;
	}
	uint64_t key = (uint64_t)h->isolate << 32 | (uint32_t)id;
	const struct v8_script *known = FIND_IN(s, h->scripts, s->id == key);
	if (!known && vec_push(&h->scripts)) {
		struct v8_script *fresh = &h->scripts.items[h->scripts.n - 1];
		fresh->id = key;
		fresh->first_line = first_line;
		read_lines(h, source, fresh);
		known = fresh;
		if (fresh->n_read == 0) { // perhaps another time
			vec_finish(&fresh->ends);
			h->scripts.n--;
			return -1;
		}
	}
	return known ? (int32_t)(known - h->scripts.items) : -1;
}

uint32_t v8_script_line(const struct v8_heap *h, int32_t script, int32_t position) {
	if (script < 0 || position < 0) {
		return 0;
	}
	const struct v8_script *s = &h->scripts.items[script];
	size_t low = 0, high = s->ends.n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (s->ends.items[middle] < (uint32_t)position) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	// Behind what could be read there may be more lines
	return (uint32_t)position <= s->n_read ? (uint32_t)low + (uint32_t)s->first_line + 1 : 0;
}
