// SPDX-License-Identifier: MIT
#include "report/gates.h"

#include <string.h>

static const char *const names[N_GATE_NUMBERS] = {
		[GATE_PEAK] = "peak",
		[GATE_NEVER_FREED] = "never-freed",
		[GATE_NEVER_FREED_BLOCKS] = "never-freed-blocks",
		[GATE_ALLOCATIONS] = "allocations",
		[GATE_ALLOCATED] = "allocated",
		[GATE_TEMPORARY] = "temporary",
		[GATE_PEAK_RSS] = "peak-rss",
		[GATE_LOST] = "lost",
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
		size_t n = strlen(names[i]);
		if (n > longest && strncmp(*at, names[i], n) == 0) {
			longest = n;
			*out = (enum gate_number)i;
		}
	}
	*at += longest;
	return longest > 0;
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
	*g = (struct gate){.text = text};
	skip_spaces(&at);
	if (!take_name(&at, &g->number)) {
		return err_set(err, ERR_USAGE,
				"--fail-if: invalid gate \"%s\"; begin with peak, never-freed, "
				"never-freed-blocks, allocations, allocated, temporary, peak-rss or lost",
				text);
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
	bool has_share = g->number == GATE_TEMPORARY || g->number == GATE_NEVER_FREED_BLOCKS;
	if (g->limit == GATE_SHARE && !has_share) {
		return err_set(err, ERR_USAGE,
				"--fail-if: invalid gate \"%s\"; only temporary and never-freed-blocks can be a "
				"share of all allocations; to compare with a base use +%.4g%%",
				text, g->value * 100);
	}
	return true;
}
