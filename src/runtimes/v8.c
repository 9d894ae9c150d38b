// SPDX-License-Identifier: MIT
/*
 * From what the recorder saw of a frame to the calls it stands for, and their names.
 *
 * A SharedFunctionInfo, one per function in the source, has a string, or a ScopeInfo of these
 * parts, as its flags say:
 *
 *   flags, parameters, n, (start, end), (a module's number), n names or one table, n infos,
 *   (class variable), (name, slot), (inferred name), (start, end), ...
 *
 * What has no name in these may have one in the source: `X.y = function`, `y: function`, `[x]()`.
 */
#include "runtimes/v8.h"

#include "runtimes/v8_parts.h"

#include <regex.h>

enum {
	MAX_NAME = 256,
	MAX_FILE = 4096,
	MAX_INLINE_NAMES = 75, // from so many variables on, their names are in a table of their own
	FIRST_SLOT = 8,
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

// Kinds of functions that the source does not contain
enum { INSTANCE_MEMBERS = 24, STATIC_MEMBERS = 25 };

static uint64_t scope_slot(struct v8_heap *h, uint64_t scope, int64_t slot) {
	return v8_word(h, scope, FIRST_SLOT + 8 * slot);
}

static void read_scope(struct v8_heap *h, uint64_t scope, struct v8_shared *out) {
	const struct v8_layout *l = h->layout;
	uint64_t word = scope_slot(h, scope, 0);
	int32_t n = v8_number_of(scope_slot(h, scope, l->scope_n_locals));
	if (n < 0) {
		return;
	}
	// A small integer (Smi) in the upper half, or 32 bits
	uint32_t flags = (uint32_t)((word & UINT32_MAX) == 0 ? word >> 32 : word);
	out->kind = flags >> KIND_SHIFT & KIND_MASK;
	int64_t at = l->scope_first_names;
	at += (int32_t)(flags & SCOPE_TYPE) == l->scope_module;
	at += n < MAX_INLINE_NAMES ? n : 1;
	at += n;
	at += (flags & HAS_CLASS_VARIABLE) != 0;
	if (flags & HAS_NAME) {
		out->name = scope_slot(h, scope, at);
		at += 2;
	}
	if (flags & HAS_INFERRED_NAME) {
		out->inferred = scope_slot(h, scope, at++);
	}
	at = l->scope_start ?: at;
	out->start = v8_number_of(scope_slot(h, scope, at));
	out->end = v8_number_of(scope_slot(h, scope, at + 1));
}

bool v8_shared_of(struct v8_heap *h, uint64_t object, struct v8_shared *out) {
	const struct v8_layout *l = h->layout;
	*out = (struct v8_shared){.object = object, .start = V8_NO_NUMBER, .end = V8_NO_NUMBER};
	if (!v8_is_type(h, &out->object, l->type_shared)) {
		return false;
	}
	uint64_t script = v8_word(h, out->object, l->shared_script);
	out->script = v8_is_type(h, &script, l->type_script) ? script : 0;
	out->name = v8_word(h, out->object, l->shared_name);
	if (v8_is_type(h, &out->name, l->type_scope)) {
		read_scope(h, out->name, out);
	}
	return true;
}

// ---- names from the source

static bool source_of(struct v8_heap *h, uint64_t script, struct v8_chars *out) {
	return v8_string_chars(h, v8_word(h, script, h->layout->script_source), out);
}

/** What a function is assigned to, or an argument of, from the text before its parameters. */
static bool name_from_source(const char *before, struct buffer *out) {
#define GAP "[[:space:]]*"
	static const char *const forms[] = {
			"(\\[[^][]*(\\[[^][]*\\][^][]*)*\\])" GAP "$", // [x]() {}
			"([^][:space:]=:[(){}<>;,+*/!~^%\"'`?|&\\@-]+)" GAP "([?|&]*=|[:(])" GAP "(async)?" GAP
			"(function)?" GAP "[*]?" GAP "$",
	};
	bool is_found = false;
	for (unsigned i = 0; i < 2 && !is_found; i++) {
		regex_t regex;
		regmatch_t at[3];
		if (regcomp(&regex, forms[i], REG_EXTENDED) != 0) {
			return false;
		}
		is_found = regexec(&regex, before, 3, at, 0) == 0;
		regfree(&regex);
		if (is_found) {
			buffer_printf(out,
					i == 1 && before[at[2].rm_so] == '(' ? "(anonymous, in %.*s)" : "%.*s",
					(int)(at[1].rm_eo - at[1].rm_so), before + at[1].rm_so);
		}
	}
	return is_found;
}

static bool put_source_name(struct v8_heap *h, const struct v8_shared *s, struct buffer *out) {
	SCOPED(buffer) text = {0};
	struct v8_chars before;
	if (s->start <= 0 || !source_of(h, s->script, &before) || (uint32_t)s->start > before.n) {
		return false;
	}
	before.n = s->start < V8_CHARS ? (uint32_t)s->start : V8_CHARS;
	before.at += ((uint64_t)s->start - before.n) * before.width;
	bool ok = v8_put_chars(h, &before, SIZE_MAX, &text);
	buffer_u8(&text, 0);
	return ok && name_from_source((const char *)text.data, out);
}

// ---- names

/** In UTF-8. True: it comes from the source alone. */
static bool function_name(struct v8_heap *h, const struct v8_shared *s, struct buffer *out) {
	if (s->kind == INSTANCE_MEMBERS || s->kind == STATIC_MEMBERS) {
		buffer_text(out,
				s->kind == STATIC_MEMBERS ? "<static_initializer>"
										  : "<instance_members_initializer>");
		return false;
	}
	if (v8_string(h, s->name, MAX_NAME, out) || v8_string(h, s->inferred, MAX_NAME, out)) {
		return false;
	}
	if (put_source_name(h, s, out)) {
		return true;
	}
	// Code of eval or new Function: its script has no name
	uint64_t name = v8_word(h, s->script, h->layout->script_name);
	buffer_text(out, v8_type(h, &name) >= h->layout->type_first_nonstring ? "eval" : "");
	return false;
}

// ---- scripts

/** The ends of a source's lines, as far as it can be read. */
static void read_lines(struct v8_heap *h, const struct v8_chars *source, struct v8_script *out) {
	uint16_t some[V8_CHARS];
	uint32_t n, last = 0;
	while ((n = v8_take_chars(h, source, out->n_read, some)) > 0) {
		for (uint32_t i = 0; i < n; i++, out->n_read++) {
			uint32_t c = some[i];
			out->ends.n -= c == '\n' && last == '\r' && out->ends.n > 0; // a CR LF is one end
			if (c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029) {
				(void)vec_add(&out->ends, out->n_read);
			}
			last = c;
		}
	}
}

/** The index of a script among the heap's, which then have its line ends. -1: unreadable. */
static int32_t script_of(struct v8_heap *h, uint64_t script) {
	const struct v8_layout *l = h->layout;
	struct v8_chars source;
	int32_t id = v8_number(h, script, l->script_id);
	int32_t first_line = v8_number(h, script, l->script_line_offset);
	if (id == V8_NO_NUMBER || first_line == V8_NO_NUMBER) {
		return -1;
	}
	uint64_t key = (uint64_t)h->isolate << 32 | (uint32_t)id;
	const struct v8_script *known = FIND_IN(s, h->scripts, s->id == key);
	if (!known && source_of(h, script, &source)) {
		struct v8_script fresh = {key, first_line, 0, {0}};
		read_lines(h, &source, &fresh);
		if (fresh.n_read == 0) {
			return -1; // perhaps another time
		}
		(void)vec_add(&h->scripts, fresh);
		known = &h->scripts.items[h->scripts.n - 1];
	}
	return known ? (int32_t)(known - h->scripts.items) : -1;
}

uint32_t v8_script_line(const struct v8_heap *h, int32_t script, int32_t position) {
	const struct v8_script *s = script < 0 ? NULL : &h->scripts.items[script];
	if (!s || position < 0 || (uint32_t)position > s->n_read) {
		return 0; // there may be more lines behind what could be read
	}
	size_t line = sorted_first(s->ends.items, s->ends.n, (uint32_t)position);
	return (uint32_t)line + (uint32_t)s->first_line + 1;
}

// ---- frames

bool v8_fits(struct v8_heap *h, const struct v8_shared *s) {
	const struct v8_layout *l = h->layout;
	struct v8_chars source;
	uint64_t name = v8_word(h, s->object, l->shared_name);
	int32_t type = v8_type(h, &name);
	return v8_number(h, s->script, l->script_id) > 0 &&
			v8_number(h, s->script, l->script_line_offset) != V8_NO_NUMBER &&
			(v8_number_of(name) != V8_NO_NUMBER || type == l->type_scope ||
					(type >= 0 && type < l->type_first_nonstring)) &&
			source_of(h, s->script, &source) && s->start <= (int32_t)source.n;
}

static struct slice keep(struct arena *texts, const struct buffer *text) {
	return slice_of(arena_copy(texts, text->data, text->size, 1), text->size);
}

static struct v8_named name_call(struct v8_heap *h, const struct v8_shared *s, int32_t position,
		struct arena *texts) {
	SCOPED(buffer) text = {0};
	struct v8_named out = {.script = -1, .is_guess = function_name(h, s, &text)};
	out.function = keep(texts, &text);
	if (s->script) {
		out.is_top_level = s->start == 0;
		out.script = script_of(h, s->script);
		out.line = v8_script_line(h, out.script, position);
		(void)v8_string(h, v8_word(h, s->script, h->layout->script_name), MAX_FILE, &text);
		out.file = keep(texts, &text);
	}
	return out;
}

/** Is a position, if known, within the function? */
static bool is_within(const struct v8_shared *s, int32_t position) {
	return position < 0 || s->end < 0 || (position >= s->start && position <= s->end);
}

/** May the calls be those of `own`'s code? Other code may have moved there. */
static bool are_of(struct v8_heap *h, const struct v8_shared *own, const struct v8_call *calls,
		uint32_t n) {
	struct v8_shared s = {0};
	for (uint32_t i = 0; i < n; i++) {
		s = *own;
		if ((calls[i].shared != 0 && !v8_shared_of(h, calls[i].shared, &s)) ||
				!is_within(&s, calls[i].position)) {
			return false;
		}
	}
	return s.object == own->object; // the outermost one
}

uint32_t v8_name_calls(struct v8_heap *h, const struct v8_shared *own, uint64_t pc,
		uint64_t function, struct arena *texts, struct v8_named out[V8_MAX_FRAMES]) {
	struct v8_call calls[V8_MAX_FRAMES] = {{.position = -1}};
	uint32_t n = pc != 0 ? v8_code_calls(h, pc, function, calls) : 1, named = 0;
	if (!are_of(h, own, calls, n)) {
		calls[0] = (struct v8_call){.position = -1};
		n = 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct v8_shared shared = *own, after;
		if (calls[i].shared == 0 || v8_shared_of(h, calls[i].shared, &shared)) {
			out[named++] = name_call(h, &shared, calls[i].position, texts);
			v8_forget(h);
			h->has_failed |= !v8_shared_of(h, shared.object, &after) || after.name != shared.name ||
					after.script != shared.script;
		}
	}
	v8_forget(h);
	struct v8_call again[V8_MAX_FRAMES]; // a collection may have moved the functions
	h->has_failed |= n > 1 &&
			(v8_code_calls(h, pc, function, again) != n ||
					ANY(i, n, again[i].shared != calls[i].shared));
	return named;
}

// ---- units

/** Most functions' parameters begin so. With a wrong layout, about 3 in 100 do. */
static bool begins_as_function(struct v8_heap *h, const struct v8_shared *s) {
	struct v8_chars source;
	uint16_t some[V8_CHARS];
	return s->start > 0 && source_of(h, s->script, &source) &&
			v8_take_chars(h, &source, (uint32_t)s->start, some) > 0 && some[0] == '(';
}

/** Is it still what the recorder saw there? */
static bool is_same(struct v8_heap *h, const struct v8_shared *s, const struct wire_unit *u) {
	const struct v8_layout *l = h->layout;
	uint64_t code = u->identity[2]; // other code may lie there by now
	bool is_there = !code || (v8_bytes(h, u->identity[1] - 8, &code, 8) && code == u->identity[2]);
	int32_t literal = v8_int(h, s->object, l->shared_flags + l->shared_literal_id);
	if (u->identity[0] == 0) {
		return literal == -1;
	}
	uint32_t id = (uint32_t)(l->shared_unique_id
					? v8_int(h, s->object, l->shared_flags + l->shared_unique_id)
					: v8_number(h, s->script, l->script_id));
	uint64_t number = l->shared_unique_id ? id : (uint64_t)id << 32 | (uint32_t)literal;
	return is_there && u->identity[0] == number;
}

/** The table of a function's bytecode. False: there is none, or it is another function's. */
static bool read_positions(struct v8_heap *h, const struct v8_shared *s, uint64_t bytecode,
		struct arena *texts, struct slice *out) {
	SCOPED(buffer) table = {0};
	bool ok = v8_is_type(h, &bytecode, h->layout->type_bytecode_array) &&
			v8_bytecode_table(h, bytecode, &table);
	*out = keep(texts, &table);
	int32_t first = v8_find_position(*out, 0);
	return ok && is_within(s, first);
}

bool v8_unit_read(struct v8_heap *h, const struct wire_unit *u, struct arena *texts,
		struct v8_unit *out) {
	uint64_t pc = u->identity[1];
	bool is_builtin = pc != 0 &&
			(u->identity[2] == 0 ||
					ANY(c, h->copies.n, pc - h->copies.items[c] < h->layout->builtins_bytes));
	struct v8_shared own;
	struct v8_named frames[V8_MAX_FRAMES];
	h->steps = V8_STEPS;
	h->code_map = h->isolate == u->thread ? h->code_map : 0;
	h->isolate = u->thread;
	h->has_failed = false;
	v8_forget(h);
	*out = (struct v8_unit){0};
	if (!v8_shared_of(h, u->object, &own) || !is_same(h, &own, u)) {
		return false;
	}
	if (is_builtin && own.script != 0) {
		return true; // a stub
	}
	if (!is_builtin &&
			(!v8_fits(h, &own) ||
					(pc == 0 && !read_positions(h, &own, u->excerpt_at, texts, &out->positions)))) {
		return false;
	}
	uint32_t n = v8_name_calls(h, &own, is_builtin ? 0 : pc, u->excerpt_at, texts, frames);
	out->is_proof = begins_as_function(h, &own);
	out->is_vague = !is_builtin && pc != 0 && frames[0].line == 0;
	out->frames = arena_copy(texts, frames, n, sizeof *frames);
	out->n = n;
	v8_forget(h);
	return is_same(h, &own, u) && !h->has_failed;
}

uint32_t v8_unit_line(const struct v8_heap *h, const struct v8_unit *u, uint32_t position) {
	return position > 0 ? v8_script_line(h, u->frames[0].script,
								  v8_find_position(u->positions, (int64_t)position - 1))
						: u->frames[0].line;
}
