// SPDX-License-Identifier: MIT
/* Scales and rounds numbers so that a person reads few digits. */
#include "base/human.h"

#include <stdio.h>
#include <string.h>

static const char units[] = " kMGTPE";

/** Scale to below 1000; `*unit` indexes units. Rounding never shows "1000.0". */
static double scale(uint64_t v, unsigned *unit) {
	double d = (double)v;
	for (*unit = 0; d >= 999.95 && *unit < 6; ++*unit) {
		d /= 1000;
	}
	return d;
}

/** `kilo`: the letter of a thousand. */
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

char *human_percent(char out[HUMAN_MAX], uint64_t part, uint64_t whole) {
	double p = whole ? 100.0 * (double)part / (double)whole : 0;
	if (part == 0 || whole == 0) {
		(void)snprintf(out, HUMAN_MAX, "0 %%");
	} else if (p < 0.1) {
		(void)snprintf(out, HUMAN_MAX, "< 0.1 %%");
	} else if (p < 9.95) {
		(void)snprintf(out, HUMAN_MAX, "%.1f %%", p);
	} else if (part < whole && p > 99) {
		(void)snprintf(out, HUMAN_MAX, "99 %%");
	} else {
		(void)snprintf(out, HUMAN_MAX, "%.0f %%", p);
	}
	return out;
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
