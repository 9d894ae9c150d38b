// SPDX-License-Identifier: MIT
#pragma once
/**
 * The shape of a site's live bytes over a run, as used by findings. Pure arithmetic over points
 * whose times rise; the last point is the end of the run.
 */

#include <stdbool.h>
#include <stdint.h>

struct curve {
	const uint64_t *times_ns;
	const uint64_t *bytes;
	uint32_t n;
	uint64_t start_ns; // what is "at start" is measured from then
};

enum curve_shape {
	CURVE_OTHER,
	CURVE_AT_START, // reached its level in the first tenth of the run and held it
	CURVE_ONCE,     // the same, at once, later
	CURVE_GREW,     // rose to the end, or to the moment at which all was freed before the end
	CURVE_STOPPED,  // rose gradually, then held its level to the end
	CURVE_BURSTS,   // came and went, several times
	CURVE_AT_END,   // came in the last hundredth of the run
	CURVE_RENEWED,  // what is never freed rose while the whole did not: judged over two curves
};

struct curve_facts {
	enum curve_shape shape;
	uint64_t top_bytes; // the largest value
	uint64_t from_ns,
			to_ns;          // GREW: the window measured. AT_START, ONCE, STOPPED: from when to when
							// the level was reached. AT_END: so long there was next to nothing
	uint64_t from_bytes;    // GREW: at from_ns; top_bytes at to_ns
	uint64_t rate;          // GREW: bytes per second over the window
	bool is_even;           // GREW: along a straight line
	bool is_freed;          // at the end less than a tenth of top_bytes is left
	uint64_t held_until_ns; // when nine tenths of it were there for the last time
	uint32_t n_bursts;      // BURSTS
	uint64_t burst_ns;      // BURSTS: how long one lasts, in the mean
	uint64_t period_ns;     // BURSTS: from one's begin to the next one's, in the mean
};

struct curve_facts curve_judge(const struct curve *c);

/** Growth of less than a second has no rate per second, only an amount and a time. */
static inline bool curve_has_rate(const struct curve_facts *c) {
	return c->to_ns - c->from_ns >= 1000000000;
}

/** From when on it neither rose nor fell: it stayed between two values, the lower of them above two
 * fifths of the higher, and its last quarters have the same mean. */
struct curve_level {
	uint64_t from_ns, low_bytes, high_bytes;
};
bool curve_find_level(const struct curve *c, struct curve_level *out);

/** By how much it is higher at the end than it was in the tenth of the run before a moment. */
uint64_t curve_rise_since(const struct curve *c, uint64_t ns);

/** The first moment, behind its start-up, with this part of its largest value. */
uint64_t curve_first_ns(const struct curve *c, double part);

/** Around point `at`: the stretch in which the value never falls below half of that at `at`. */
struct curve_stretch {
	uint32_t first, last; // points
	uint64_t ns;          // from half way before the first to half way behind the last
};
struct curve_stretch curve_stretch_at(const struct curve *c, uint32_t at);
