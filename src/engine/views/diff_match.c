// SPDX-License-Identifier: MIT
/*
 * Reduces a function's name to what is the same in another build. A name is cut at brackets of
 * depth 0, from behind: "<", "(", "[" and "{" open, "->" closes nothing.
 */
#include "base/text.h"
#include "engine/diff.h"

static bool is_closing(struct slice s, size_t i) {
	uint8_t c = s.data[i];
	bool is_arrow = c == '>' && i > 0 && s.data[i - 1] == '-';
	return c == ')' || c == ']' || c == '}' || (c == '>' && !is_arrow);
}

static bool is_opening(uint8_t c) {
	return c == '(' || c == '[' || c == '{' || c == '<';
}

/** "f(int) const" is "f(int)". */
static struct slice without_qualifiers(struct slice s) {
	static const char *const words[] = {" const", " volatile", " &", " &&", " noexcept"};
	for (size_t i = 0; i < sizeof words / sizeof *words;) {
		if (ends_with(s, words[i])) {
			s.size -= strlen(words[i]);
			i = 0;
		} else {
			i++;
		}
	}
	return s;
}

/** Without the last brackets, if they are parameters: not those of "operator()", nor a name. */
static struct slice without_parameters(struct slice s) {
	if (s.size == 0 || s.data[s.size - 1] != ')') {
		return s;
	}
	int depth = 0;
	for (size_t i = s.size; i-- > 0;) {
		depth += is_closing(s, i);
		depth -= is_opening(s.data[i]);
		if (depth == 0) {
			struct slice name = slice_of(s.data, i);
			bool is_name = i == 0 || ends_with(name, "operator") || ends_with(name, "::");
			return is_name ? s : name;
		}
	}
	return s;
}

/** Behind the last space outside of brackets; "operator new" keeps its own. */
static struct slice without_return_type(struct slice s) {
	static const char operator[] = "operator";
	int depth = 0;
	size_t first = 0;
	for (size_t i = s.size; i-- > 0;) {
		depth += is_closing(s, i);
		depth -= is_opening(s.data[i]);
		if (depth == 0 && s.data[i] == ' ') {
			if (!ends_with(slice_of(s.data, i), operator)) {
				first = i + 1;
				break;
			}
		}
	}
	return first < s.size ? slice_of(s.data + first, s.size - first) : s;
}

struct slice diff_match(struct slice name) {
	struct slice s = without_return_type(without_parameters(without_qualifiers(name)));
	return s.size ? s : name;
}
