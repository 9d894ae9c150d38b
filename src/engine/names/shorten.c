// SPDX-License-Identifier: MIT
/*
 * Shortens demangled names. They are read once, left to right. Brackets nest, except in operators.
 * The name proper ends where the parameter list begins: at the last top-level "(" except
 * "(anonymous namespace)" and "operator()"; a return type, at the last top-level space before.
 */
#include "engine/names.h"

static bool at_word(struct slice s, size_t i, const char *word) {
	size_t n = strlen(word);
	return s.size - i >= n && memcmp(s.data + i, word, n) == 0;
}

static bool is_name_char(uint8_t c) {
	return isalnum(c) || c == '_' || c == '$';
}

/** The length of an operator's name at i, or 0. */
static size_t operator_length(struct slice s, size_t i) {
	if (!at_word(s, i, "operator") || (i > 0 && is_name_char(s.data[i - 1]))) {
		return 0;
	}
	size_t n = i + 8;
	if (n < s.size && is_name_char(s.data[n])) {
		return 0;
	}
	if (at_word(s, n, "()")) {
		return 10;
	}
	if (n < s.size && s.data[n] == ' ') {
		// "operator new", "operator delete[]", conversions
		for (n++; n < s.size && s.data[n] != '(' && s.data[n] != '<'; n++) {}
		return n - i;
	}
	// "<" belongs to it only after "<" and "<<": "operator==<int>"
	while (n < s.size && strchr("<>=!+-*/%^&|~,[]", s.data[n]) &&
			(s.data[n] != '<' || n == i + 8 || s.data[n - 1] == '<')) {
		n++;
	}
	return n - i;
}

/** One past the bracket that closes the one at i. */
static size_t skip_brackets(struct slice s, size_t i) {
	size_t depth = 0;
	do {
		size_t op = operator_length(s, i);
		if (op == 0) {
			step_brackets(s, i, &depth);
		}
		i += op ? op : 1;
	} while (i < s.size && depth > 0);
	return i;
}

/** An operator's template arguments follow a space: "operator<< <char>". */
static size_t skip_operator_arguments(struct slice s, size_t i) {
	return at_word(s, i, " <") ? skip_brackets(s, i + 1) : i;
}

struct shape {
	size_t begin;      // after the return type
	size_t parameters; // of their "(", or the end
};

static struct shape shape_of(struct slice s) {
	struct shape shape = {0, s.size};
	for (size_t i = 0; i < s.size;) {
		size_t op = operator_length(s, i);
		uint8_t c = s.data[i];
		if (op > 0) {
			i = skip_operator_arguments(s, i + op);
		} else if (at_word(s, i, "(anonymous namespace)") ||
				(i >= 9 && at_word(s, i - 9, "decltype ("))) {
			i = skip_brackets(s, i);
		} else if (c == '(' && i > 0) {
			shape.parameters = i;
			i = skip_brackets(s, i);
			// "f(int)::local::g(char)": a local name continues after the parameters
			if (at_word(s, i, "::") || at_word(s, i, " const::")) {
				shape.parameters = s.size;
			}
		} else if (c == '<' || c == '{' || c == '(' || c == '[') {
			i = skip_brackets(s, i);
		} else {
			if (c == ' ' && shape.parameters == s.size) {
				shape.begin = i + 1;
			}
			i++;
		}
	}
	// Without parameters a space belongs to the name: "generated code 0x1234", "operator new"
	shape.begin = shape.parameters == s.size ? 0 : shape.begin;
	return shape;
}

struct slice function_proper(struct slice name) {
	return slice_from(name, shape_of(name).begin);
}

struct slice function_bare(struct slice name) {
	struct shape shape = shape_of(name);
	size_t n = shape.parameters - shape.begin;
	return n ? slice_of(name.data + shape.begin, n) : name;
}

static bool is_kept_bracket(struct slice s, size_t i) {
	// As in Rust's "<T as Trait>::f", "<lambda" and "<impl", Python's "f.<locals>.<listcomp>"
	return i == 0 || s.data[i - 1] == ' ' || s.data[i - 1] == '.' || at_word(s, i, "<lambda") ||
			at_word(s, i, "<impl");
}

/** Copy s[begin, end), eliding template arguments. Returns the bytes written. */
static size_t copy_elided(char *out, struct slice s, size_t begin, size_t end) {
	size_t n = 0;
	for (size_t i = begin; i < end;) {
		size_t op = operator_length(s, i);
		if (op > 0) {
			op = op > end - i ? end - i : op;
			memcpy(out + n, s.data + i, op);
			n += op;
			i = skip_operator_arguments(s, i + op);
		} else if (s.data[i] == '<' && i > begin && !is_kept_bracket(s, i)) {
			out[n++] = '<';
			out[n++] = '>';
			size_t next = skip_brackets(s, i);
			i = next > i + 1 ? next : i + 1;
		} else {
			out[n++] = (char)s.data[i++];
		}
	}
	return n;
}

/** Rust's v0 mangling has "<app::Cache>::fill" for "app::Cache::fill". */
static struct slice without_self_brackets(struct slice s, struct arena *arena) {
	size_t end = s.size > 0 && s.data[0] == '<' ? skip_brackets(s, 0) : 0;
	struct slice inner = slice_of(s.data + 1, end > 2 ? end - 2 : 0);
	if (inner.size == 0 || !at_word(s, end, "::") || !is_name_char(inner.data[0]) ||
			memmem(inner.data, inner.size, " as ", 4)) {
		return s;
	}
	char *text = arena_alloc(arena, s.size, 1);
	memcpy(text, inner.data, inner.size);
	memcpy(text + inner.size, s.data + end, s.size - end);
	return slice_of(text, s.size - 2);
}

/** "name[abi:cxx11]()" becomes "name()": the kind of std::string it returns is noise. */
static struct slice without_abi_tags(struct slice s, struct arena *arena) {
	static const char tag[] = "[abi:";
	if (s.size == 0 || !memmem(s.data, s.size, tag, strlen(tag))) {
		return s;
	}
	uint8_t *text = arena_alloc(arena, s.size, 1);
	size_t n = 0;
	for (size_t i = 0; i < s.size;) {
		if (at_word(s, i, tag)) {
			i = skip_brackets(s, i);
		} else {
			text[n++] = s.data[i++];
		}
	}
	return slice_of(text, n);
}

char *function_short(struct slice s, struct arena *arena) {
	s = without_self_brackets(without_abi_tags(s, arena), arena);
	// An unclosed "<" grows by one, "()" and the NUL by three
	char *out = arena_alloc(arena, s.size + 4, 1);
	struct shape shape = shape_of(s);
	size_t n = copy_elided(out, s, shape.begin, shape.parameters);
	if (shape.parameters < s.size) {
		out[n++] = '(';
		out[n++] = ')';
	}
	out[n] = '\0';
	return out;
}

char *template_short(struct slice s, struct arena *arena) {
	char *out = arena_alloc(arena, s.size + 2, 1);
	out[copy_elided(out, s, 0, s.size)] = '\0';
	return out;
}
