// SPDX-License-Identifier: MIT
/* Numbers rounded to few digits for people, paths, and mistyped words. */
#include "base/text.h"

#include <ctype.h>

/** The size of the first text in a list that is a prefix of `s`, or equal; SIZE_MAX: none. */
static size_t find_in_list(struct slice s, const char *list, bool is_whole) {
	for (size_t n; *list; list = strchrnul(list + n, '|')) {
		list++;
		for (n = 0; n < s.size && s.data[n] == (uint8_t)list[n] && list[n] && list[n] != '|';) {
			n++;
		}
		if ((list[n] == '|' || !list[n]) && (!is_whole || n == s.size)) {
			return n;
		}
	}
	return SIZE_MAX;
}

bool is_any(struct slice s, const char *list) {
	return find_in_list(s, list, true) != SIZE_MAX;
}

bool starts_with_any(struct slice s, const char *list) {
	return find_in_list(s, list, false) != SIZE_MAX;
}

bool take_any(struct slice *s, const char *list) {
	size_t n = find_in_list(*s, list, false);
	*s = n != SIZE_MAX ? slice_from(*s, n) : *s;
	return n != SIZE_MAX;
}

// ---- brackets

static bool is_arrow(struct slice s, size_t i) {
	return s.data[i] == '>' && i > 0 && s.data[i - 1] == '-';
}

void step_brackets(struct slice s, size_t i, size_t *depth) {
	uint8_t c = s.data[i];
	*depth += c == '<' || c == '(' || c == '[' || c == '{';
	*depth -= *depth > 0 && !is_arrow(s, i) && (c == '>' || c == ')' || c == ']' || c == '}');
}

size_t find_outside_brackets(struct slice s, const char *bytes) {
	size_t depth = 0;
	for (size_t i = 0; i < s.size; i++) {
		if (depth == 0 && strchr(bytes, s.data[i]) && !is_arrow(s, i)) {
			return i;
		}
		step_brackets(s, i, &depth);
	}
	return s.size;
}

size_t last_part_at(struct slice s) {
	size_t depth = 0, at = 0;
	for (size_t i = 0; i + 1 < s.size; i++) {
		step_brackets(s, i, &depth);
		if (depth == 0 && s.data[i] == ':' && s.data[i + 1] == ':') {
			at = i + 2;
		}
	}
	return at;
}

// ---- numbers

static const char units[] = " kMGTPE";

/** Scale to below 1000; `*unit` indexes units. Rounding never shows "1000.0". */
static double scale(uint64_t v, unsigned *unit) {
	double d = (double)v;
	for (*unit = 0; d >= 999.95 && *unit < 6; ++*unit) {
		d /= 1000;
	}
	return d;
}

/** `kilo`: the prefix for 1000. */
static char *put_scaled(char *out, uint64_t bytes, const char *space, char kilo, const char *end) {
	unsigned unit;
	double d = scale(bytes, &unit);
	if (bytes < 1000) {
		(void)snprintf(out, HUMAN_MAX, "%u%s%s", (unsigned)bytes, space, end);
	} else {
		(void)snprintf(out, HUMAN_MAX, "%.1f%s%c%s", d, space, unit == 1 ? kilo : units[unit], end);
	}
	return out;
}

char *human_bytes(char out[HUMAN_MAX], uint64_t bytes) {
	return put_scaled(out, bytes, " ", 'k', "B");
}

char *human_compact(char out[HUMAN_MAX], uint64_t bytes) {
	return put_scaled(out, bytes, "", 'K', "");
}

char *human_count(char out[HUMAN_MAX], uint64_t n) {
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
	char *at = out;
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0) {
			*at++ = ',';
		}
		*at++ = digits[i];
	}
	*at = '\0';
	return out;
}

char *human_duration(char out[HUMAN_MAX], uint64_t ns) {
	uint64_t s = ns / 1000000000;
	if (ns < 10000000) {
		(void)snprintf(out, HUMAN_MAX, "%.1f ms", (double)ns / 1e6);
	} else if (ns < 999500000) {
		(void)snprintf(out, HUMAN_MAX, "%.0f ms", (double)ns / 1e6);
	} else if (ns < 119995000000) {
		(void)snprintf(out, HUMAN_MAX, "%.2f s", (double)ns / 1e9);
	} else if (s < 3600) {
		(void)snprintf(out, HUMAN_MAX, "%u min %02u s", (unsigned)(s / 60), (unsigned)(s % 60));
	} else if (s < 86400) {
		(void)snprintf(out, HUMAN_MAX, "%u h %02u min", (unsigned)(s / 3600),
				(unsigned)(s / 60 % 60));
	} else {
		(void)snprintf(out, HUMAN_MAX, "%llu d %02u h", (unsigned long long)(s / 86400),
				(unsigned)(s / 3600 % 24));
	}
	return out;
}

char *human_span(char out[HUMAN_MAX], uint64_t ns) {
	return ns < 1000000 ? strcpy(out, "less than 1 ms") : human_duration(out, ns);
}

char *human_share(char out[HUMAN_MAX], uint64_t part, uint64_t whole, int decimals) {
	const double p = whole ? 100.0 * (double)part / (double)whole : 0, least = decimals ? 0.1 : 1;
	const bool is_part = part > 0 && part < whole;
	(void)snprintf(out, HUMAN_MAX, is_part && p < least ? "<%.*f" : "%.*f", decimals,
			is_part && p < least                 ? least
					: is_part && p > 100 - least ? 100 - least
												 : p);
	return out;
}

char *human_percent(char out[HUMAN_MAX], uint64_t part, uint64_t whole) {
	const double p = whole ? 100.0 * (double)part / (double)whole : 0;
	return p > 0 && p < 0.1 ? strcpy(out, "< 0.1 %")
							: strcat(human_share(out, part, whole, p > 0 && p < 9.95), " %");
}

char *human_classic(char out[HUMAN_MAX], uint64_t bytes) {
	static const char classic[] = "BKMGTPE";
	double d = (double)bytes;
	unsigned unit = 0;
	while (d > 1000 && unit < 6) {
		d /= 1000;
		unit++;
	}
	if (unit == 0) {
		(void)snprintf(out, HUMAN_MAX, "%uB", (unsigned)bytes);
	} else {
		(void)snprintf(out, HUMAN_MAX, "%.2f%c", d, classic[unit]);
	}
	return out;
}

// ---- paths

struct slice path_base(struct slice path) {
	const uint8_t *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	return slash ? slice_of(slash + 1, (size_t)(path.data + path.size - (slash + 1))) : path;
}

const char *path_base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/** Drop the last part of the path in [start, to), unless there is none or it is "..". */
static char *drop_last(char *start, char *to) {
	char *last = to;
	while (last > start && last[-1] != '/') {
		last--;
	}
	if (to == last || (to - last == 2 && memcmp(last, "..", 2) == 0)) {
		return NULL;
	}
	return last > start ? last - 1 : last;
}

const char *path_normal(const char *path, struct arena *arena) {
	char *text = arena_alloc(arena, strlen(path) + 2, 1);
	bool is_absolute = *path == '/';
	char *start = text + is_absolute; // the parts go here, separated by single slashes
	char *to = start;
	while (*path) {
		size_t n = strcspn(path, "/");
		bool is_up = n == 2 && memcmp(path, "..", 2) == 0;
		char *cut = is_up ? drop_last(start, to) : NULL;
		if (cut) {
			to = cut;
		} else if (n && !(n == 1 && *path == '.') && !(is_up && is_absolute)) {
			if (to > start) {
				*to++ = '/';
			}
			memcpy(to, path, n);
			to += n;
		}
		path += n;
		path += strspn(path, "/");
	}
	if (is_absolute) {
		*text = '/';
	} else if (to == start) {
		*to++ = '.';
	}
	*to = 0;
	return text;
}

// ---- mistyped words

enum { NAME_MAX_BYTES = 64 };

/** The edit distance: letters changed, omitted, inserted, or swapped with a neighbour. */
static unsigned distance(struct slice a, struct slice b) {
	unsigned rows[3][NAME_MAX_BYTES + 1];
	for (size_t k = 0; k <= b.size; k++) {
		rows[0][k] = (unsigned)k;
	}
	for (size_t i = 1; i <= a.size; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
		row[0] = (unsigned)i;
		for (size_t k = 1; k <= b.size; k++) {
			unsigned least = above[k - 1] + (a.data[i - 1] != b.data[k - 1]);
			least = above[k] + 1 < least ? above[k] + 1 : least;
			least = row[k - 1] + 1 < least ? row[k - 1] + 1 : least;
			if (i > 1 && k > 1 && a.data[i - 1] == b.data[k - 2] &&
					a.data[i - 2] == b.data[k - 1] && two_above[k - 2] + 1 < least) {
				least = two_above[k - 2] + 1;
			}
			row[k] = least;
		}
	}
	return rows[a.size % 3][b.size];
}

struct nearest nearest_init(struct slice word) {
	return (struct nearest){.word = word, .least = (unsigned)(word.size / 3) + 1};
}

void nearest_try(struct nearest *n, const char *name) {
	struct slice text = slice_of_text(name);
	if (n->word.size > NAME_MAX_BYTES || text.size > NAME_MAX_BYTES) {
		return;
	}
	unsigned d = distance(n->word, text);
	if (d < n->least) {
		n->least = d;
		n->name = name;
	}
}

struct slice nim_module_of(struct slice s) {
	size_t end = s.size;
	while (end > 0 && isdigit(s.data[end - 1])) {
		end--;
	}
	if (end == s.size || end < 5) {
		return (struct slice){0};
	}
	end -= s.data[end - 1] == 'u';
	const uint8_t *split = memmem(s.data, end, "__", 2);
	if (!split || split == s.data || s.data[end - 1] != '_') {
		return (struct slice){0};
	}
	size_t begin = (size_t)(split - s.data) + 2;
	return begin < end - 1 ? slice_of(s.data + begin, end - 1 - begin) : (struct slice){0};
}
