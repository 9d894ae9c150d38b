// SPDX-License-Identifier: MIT
#include "report/gates.h"

#include <stdio.h>
#include <string.h>

// Numbers that the metrics have, and others
static const struct {
	const char *name;
	bool may_be_share; // of the allocations
} numbers[N_GATE_NUMBERS] = {
#define GATE_ROW(id, name, metric, is_bytes, may_be_share, says) [GATE_##id] = {name, may_be_share},
		METRIC_GATES(GATE_ROW)
#undef GATE_ROW
				[GATE_PEAK_RSS] = {"peak-rss", false},
		[GATE_LOST] = {"lost", false},
};

static bool take_text(const char **at, const char *text) {
	size_t n = strlen(text);
	bool is_there = strncmp(*at, text, n) == 0;
	*at += is_there ? n : 0;
	return is_there;
}

static void skip_spaces(const char **at) {
	while (**at == ' ') {
		(*at)++;
	}
}

/** The longest name that stands here. */
static bool take_name(const char **at, enum gate_number *out) {
	size_t longest = 0;
	for (int i = 0; i < N_GATE_NUMBERS; i++) {
		size_t n = strlen(numbers[i].name);
		if (n > longest && strncmp(*at, numbers[i].name, n) == 0) {
			longest = n;
			*out = (enum gate_number)i;
		}
	}
	*at += longest;
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

static bool take_operator(const char **at, struct gate *g) {
	g->is_below = **at == '<';
	if (**at != '<' && **at != '>') {
		return false;
	}
	(*at)++;
	g->or_equal = take_text(at, "=");
	return true;
}

/** "1", "2.5": without a locale. */
static bool take_value(const char **at, double *out) {
	const char *first = *at;
	*out = 0;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		*out = *out * 10 + (**at - '0');
	}
	if (**at == '.') {
		(*at)++;
		for (double place = 0.1; **at >= '0' && **at <= '9'; (*at)++, place /= 10) {
			*out += place * (**at - '0');
		}
	}
	return *at > first && *at - first < 20;
}

/** "k", "MB", "GiB", "%". */
static bool take_unit(const char **at, struct gate *g, bool is_more) {
	static const char units[] = "kMGT";
	g->limit = is_more ? GATE_MORE : GATE_ABSOLUTE;
	if (take_text(at, "%")) {
		g->limit = is_more ? GATE_MORE_SHARE : GATE_SHARE;
		g->value /= 100;
		return true;
	}
	const char *unit = **at ? strchr(units, **at == 'K' ? 'k' : **at) : NULL;
	if (unit) {
		(*at)++;
		double step = take_text(at, "i") ? 1024 : 1000;
		for (const char *u = units; u <= unit; u++) {
			g->value *= step;
		}
	}
	(void)take_text(at, "B");
	return true;
}

bool gate_parse(struct gate *g, const char *text, struct err *err) {
	const char *at = text;
	char list[200];
	*g = (struct gate){.text = text};
	skip_spaces(&at);
	if (!take_name(&at, &g->number)) {
		put_names(list, sizeof list, false);
		return err_set(err, ERR_USAGE, "--fail-if: invalid gate \"%s\"; begin with %s", text, list);
	}
	skip_spaces(&at);
	bool ok = take_operator(&at, g);
	skip_spaces(&at);
	bool is_more = take_text(&at, "+");
	ok = ok && take_value(&at, &g->value) && take_unit(&at, g, is_more);
	skip_spaces(&at);
	if (!ok || *at) {
		return err_set(err, ERR_USAGE,
				"--fail-if: invalid gate \"%s\"; use e.g. 'peak>500M', 'temporary>30%%', "
				"'allocations>+5%%' or 'never-freed>+1M'",
				text);
	}
	if (g->limit == GATE_SHARE && !numbers[g->number].may_be_share) {
		put_names(list, sizeof list, true);
		return err_set(err, ERR_USAGE,
				"--fail-if: invalid gate \"%s\"; only %s can be a share of all allocations; to compare "
				"with a base use +%.4g%%",
				text, list, g->value * 100);
	}
	return true;
}
