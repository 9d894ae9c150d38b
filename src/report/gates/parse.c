// SPDX-License-Identifier: MIT
/* Parses a gate such as "never-freed>+1M". */
#include "base/text.h"
#include "report/gates.h"

#include <stdio.h>

// Numbers that the metrics have, and others
static const struct {
	const char *name;
	bool may_be_share; // of the allocations, or of RSS
} numbers[N_GATE_NUMBERS] = {
#define GATE_ROW(id, name, metric, is_bytes, may_be_share, says) [GATE_##id] = {name, may_be_share},
		METRIC_GATES(GATE_ROW)
#undef GATE_ROW
				[GATE_PEAK_RSS] = {"peak-rss", false},
		[GATE_LOST] = {"lost", false},
		[GATE_RSS] = {"rss", false},
		[GATE_HEAP_FREE] = {"heap-free", true},
		[GATE_UNTOUCHED] = {"untouched", false},
		[GATE_UNKNOWN] = {"unknown", true},
};

/** The longest name that stands here. */
static bool take_name(struct slice *s, enum gate_number *out) {
	size_t longest = 0;
	for (int i = 0; i < N_GATE_NUMBERS; i++) {
		size_t n = strlen(numbers[i].name);
		if (n > longest && starts_with(*s, numbers[i].name)) {
			longest = n;
			*out = (enum gate_number)i;
		}
	}
	*s = slice_of(s->data + longest, s->size - longest);
	return longest > 0;
}

/** "peak, never-freed or lost". */
static void put_names(char *out, size_t size, bool of_shares) {
	const char *list[N_GATE_NUMBERS];
	size_t n = 0;
	for (int i = 0; i < N_GATE_NUMBERS; i++) {
		if (!of_shares || numbers[i].may_be_share) {
			list[n++] = numbers[i].name;
		}
	}
	for (size_t i = 0, at = 0; i < n && at < size; i++) {
		at += (size_t)snprintf(out + at, size - at, "%s%s", list[i],
				i + 1 == n           ? ""
						: i + 2 == n ? (of_shares ? " and " : " or ")
									 : ", ");
	}
}

static bool take_operator(struct slice *s, struct gate *g) {
	g->is_below = take_prefix(s, "<");
	if (!g->is_below && !take_prefix(s, ">")) {
		return false;
	}
	g->or_equal = take_prefix(s, "=");
	return true;
}

/** "k", "MB", "GiB", "%". */
static void take_unit(struct slice *s, struct gate *g, bool is_more) {
	static const char units[] = "kMGT";
	g->limit = is_more ? GATE_MORE : GATE_ABSOLUTE;
	if (take_prefix(s, "%")) {
		g->limit = is_more ? GATE_MORE_SHARE : GATE_SHARE;
		g->value /= 100;
		return;
	}
	const char *unit = s->size ? strchr(units, *s->data == 'K' ? 'k' : *s->data) : NULL;
	if (unit) {
		*s = slice_of(s->data + 1, s->size - 1);
		double step = take_prefix(s, "i") ? 1024 : 1000;
		for (const char *u = units; u <= unit; u++) {
			g->value *= step;
		}
	}
	(void)take_prefix(s, "B");
}

bool gate_parse(struct gate *g, const char *text, struct err *err) {
	struct slice rest = skip_spaces(slice_of_text(text));
	char list[200];
	*g = (struct gate){.text = text};
	if (!take_name(&rest, &g->number)) {
		put_names(list, sizeof list, false);
		return err_set(err, ERR_USAGE, "--fail-if: invalid gate \"%s\"; begin with %s", text, list);
	}
	rest = skip_spaces(rest);
	bool ok = take_operator(&rest, g);
	rest = skip_spaces(rest);
	bool is_more = take_prefix(&rest, "+");
	ok = ok && take_fraction(&rest, &g->value);
	take_unit(&rest, g, is_more);
	if (!ok || skip_spaces(rest).size > 0) {
		return err_set(err, ERR_USAGE,
				"--fail-if: invalid gate \"%s\"; use e.g. 'peak>500M', 'temporary>30%%', "
				"'allocations>+5%%' or 'never-freed>+1M'",
				text);
	}
	if (g->limit == GATE_SHARE && !numbers[g->number].may_be_share) {
		put_names(list, sizeof list, true);
		return err_set(err, ERR_USAGE,
				"--fail-if: invalid gate \"%s\"; only %s can be a share, of all allocations or of "
				"RSS; to compare with a base use +%.4g%%",
				text, list, g->value * 100);
	}
	return true;
}
