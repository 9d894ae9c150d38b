// SPDX-License-Identifier: MIT
#include "engine/findings/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

// A run of one second, with a point every 2 ms or so; each shape is a function of the time in ms.

enum { POINTS = 500, MB = 1000000 };

static uint64_t times[POINTS], bytes[POINTS];

static struct curve_facts judge(uint64_t (*at)(uint64_t ms)) {
	for (uint32_t i = 0; i < POINTS; i++) {
		// Unevenly: edges stand at the maxima of their periods
		uint64_t us = i * 2000 + i * 7919 % 1900;
		times[i] = (i + 1 == POINTS ? 1000000 : us) * 1000;
		bytes[i] = at(times[i] / MB);
	}
	struct curve c = {times, bytes, POINTS, 0};
	return curve_judge(&c);
}

static uint64_t nothing(uint64_t ms) {
	return ms & 0;
}

static uint64_t evenly(uint64_t ms) {
	return ms * 1000;
}

static uint64_t freed_at_end(uint64_t ms) {
	return ms > 990 ? 0 : ms * 1000;
}

static uint64_t freed_early(uint64_t ms) {
	return ms > 850 || ms < 100 ? 0 : MB;
}

static uint64_t with_noise(uint64_t ms) {
	return ms * 1000 + ms * 37 % 11 * 4000;
}

static uint64_t cache(uint64_t ms) {
	return ms < 400 ? ms * 10000 : 4 * MB + ms % 7 * 10000;
}

static uint64_t table(uint64_t ms) {
	return ms < 20 ? 0 : MB;
}

static uint64_t table_later(uint64_t ms) {
	return ms < 300 ? 0 : MB;
}

static uint64_t bursts(uint64_t ms) {
	return ms % 200 >= 100 && ms % 200 < 140 ? 8 * MB : 1000;
}

static uint64_t spike(uint64_t ms) {
	return ms >= 500 && ms < 600 ? 32 * MB : MB;
}

static uint64_t at_exit(uint64_t ms) {
	return ms >= 996 ? MB : 0;
}

static uint64_t doubling(uint64_t ms) {
	return ms < 200 ? 0 : (uint64_t)1000 << (ms - 200) / 40;
}

/** Evenly at first, and faster and faster in its last fifth: all the same it never stopped. */
static uint64_t faster_at_last(uint64_t ms) {
	return ms < 800 ? 280000 + ms * 320 : ms < 980 ? 540000 + (ms - 800) * 5000 : 60000;
}

static uint64_t faster_and_faster(uint64_t ms) {
	return ms * ms;
}

/** A table that is built to a moment, of which a little goes before all of it does. */
static uint64_t built_until(uint64_t ms) {
	return ms < 850 ? ms * 1000 : ms < 950 ? 850000 - (ms - 850) * 500 : 0;
}

/** Grows to the end, and a moment of rehashing in the middle holds a little more. */
static uint64_t rehashed(uint64_t ms) {
	return ms * 1000 + (ms / 4 == 175 ? 250000 : 0);
}

/** Only what came at last is growth of its own, and may as well be work in progress. */
static uint64_t only_at_last(uint64_t ms) {
	return ms < 800 ? 280000 + ms * 20 : ms < 980 ? 300000 + (ms - 800) * 5000 : 60000;
}

/** Up to the same height again and again, by chance a little more often late. */
static uint64_t more_often(uint64_t ms) {
	return ms % 40 + ms / 50 >= 30 ? 200000 : 70000;
}

static uint64_t up_and_down(uint64_t ms) {
	return ms < 500 ? ms * 1000 : (1000 - ms) * 1000;
}

static uint64_t filled_then_renewed(uint64_t ms) {
	return ms < 100 ? ms * 40000 : 4 * MB - ms * 37 % 11 * 10000;
}

static uint64_t twice_for_a_moment(uint64_t ms) {
	return ms / 2 % 50 == 49 ? 4 * MB : 2 * MB;
}

/** The last generation of blocks that live for a tenth of a second each. */
static uint64_t last_generation(uint64_t ms) {
	return ms < 900 ? 0 : (ms - 900) * 20000;
}

static void knows_the_shapes(void **state) {
	(void)state;
	static const struct {
		uint64_t (*at)(uint64_t ms);
		enum curve_shape shape;
	} shapes[] = {
			{nothing, CURVE_OTHER},
			{evenly, CURVE_GREW},
			{freed_at_end, CURVE_GREW},
			{with_noise, CURVE_GREW},
			{cache, CURVE_STOPPED},
			{table, CURVE_AT_START},
			{table_later, CURVE_ONCE},
			{bursts, CURVE_BURSTS},
			{spike, CURVE_OTHER},
			{at_exit, CURVE_AT_END},
			{doubling, CURVE_OTHER},
			{up_and_down, CURVE_OTHER},
			{faster_at_last, CURVE_GREW},
			{faster_and_faster, CURVE_GREW},
			{built_until, CURVE_GREW},
			{rehashed, CURVE_GREW},
			{only_at_last, CURVE_OTHER},
			{more_often, CURVE_OTHER},
	};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		enum curve_shape shape = judge(shapes[i].at).shape;
		if (shape != shapes[i].shape) {
			fail_msg("curve %zu: shape %d, not %d", i, shape, shapes[i].shape);
		}
	}
}

static void assert_near(uint64_t value, uint64_t expected, uint64_t percent) {
	assert_in_range(value, expected - expected * percent / 100,
			expected + expected * percent / 100);
}

static void measures_growth(void **state) {
	(void)state;
	struct curve_facts c = judge(evenly);
	assert_true(c.is_even);
	assert_false(c.is_freed);
	assert_near(c.rate, MB, 1);
	assert_near(c.to_ns - c.from_ns, 950 * MB, 1); // not its start-up
	c = judge(freed_at_end);
	assert_true(c.is_freed);
	assert_in_range(c.held_until_ns, 950 * MB, 1000 * MB);
	assert_near(c.rate, MB, 1);
	assert_near(c.top_bytes, 990000, 1);
	c = judge(faster_and_faster);
	assert_false(c.is_even);
	assert_near(c.rate, 1770000, 2); // of its last quarter; the mean is 1,050,000
	c = judge(built_until);          // it held less from then on
	assert_near(c.to_ns, 850 * MB, 1);
	assert_near(c.top_bytes, 850000, 1);
	assert_near(c.held_until_ns, 950 * MB, 1);
	c = judge(rehashed);
	assert_near(c.to_ns, 1000 * MB, 1);
	c = judge(freed_early);
	assert_true(c.is_freed);
	assert_near(c.held_until_ns, 850 * MB, 1);
}

static void measures_bursts_and_levels(void **state) {
	(void)state;
	struct curve_facts c = judge(bursts);
	assert_int_equal(c.n_bursts, 5);
	assert_near(c.lasted_ns, 40 * MB, 10);
	assert_near(c.period_ns, 200 * MB, 2);
	assert_near(judge(cache).to_ns, 380 * MB, 3); // 95 % of its level
	assert_near(judge(table_later).from_ns, 300 * MB, 2);
}

/** What came at the end came after a moment that is known; with no edge near it, nobody knows. */
static void knows_since_when_it_came_at_the_end(void **state) {
	(void)state;
	struct curve_facts c = judge(at_exit);
	assert_int_equal(c.shape, CURVE_AT_END);
	assert_in_range(c.from_ns, 900ull * MB, 1000ull * MB);
	const uint64_t far[] = {0, 100 * MB, 200 * MB, 300 * MB, 400 * MB, 500 * MB, 600 * MB,
			1000 * MB};
	const uint64_t held[] = {0, 0, 0, 0, 0, 0, 0, 5 * MB};
	struct curve sparse = {far, held, 8, 0};
	assert_int_equal(curve_judge(&sparse).shape, CURVE_OTHER);
}

static void finds_how_long_a_spike_lasts(void **state) {
	(void)state;
	(void)judge(spike);
	uint32_t at = 0;
	while (bytes[at] < 32 * MB) {
		at++;
	}
	struct curve c = {times, bytes, POINTS, 0};
	assert_near(curve_stretch_at(&c, at + 10).ns, 100 * MB, 4);
}

static struct curve curve_of(uint64_t (*at)(uint64_t ms)) {
	(void)judge(at);
	return (struct curve){times, bytes, POINTS, 0};
}

static void finds_the_level_that_is_held(void **state) {
	(void)state;
	struct curve_level level;
	struct curve c = curve_of(filled_then_renewed);
	assert_true(curve_find_level(&c, &level));
	assert_near(level.from_ns, 89 * MB, 3); // nine tenths of what it held in the mean
	assert_near(level.low_bytes, 3600000, 2);
	assert_int_equal(level.high_bytes, 4 * MB);
	c = curve_of(twice_for_a_moment);
	assert_true(curve_find_level(&c, &level));
	assert_int_equal(level.from_ns, times[0]);
	assert_int_equal(level.low_bytes, 2 * MB);
	assert_int_equal(level.high_bytes, 4 * MB);
	uint64_t (*others[])(uint64_t ms) = {nothing, evenly, freed_at_end, bursts, spike, at_exit,
			doubling, up_and_down};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		c = curve_of(others[i]);
		if (curve_find_level(&c, &level)) {
			fail_msg("curve %zu has no level", i);
		}
	}
}

static void measures_the_rise_since_a_moment(void **state) {
	(void)state;
	struct curve c = curve_of(last_generation);
	uint64_t since = curve_first_ns(&c, 0.1);
	assert_near(since, 910 * MB, 1);
	// In the mean there was next to nothing in the tenth of the run before, and 2 MB at the end
	assert_near(curve_rise_since(&c, since), 2 * MB, 2);
	c = curve_of(filled_then_renewed);
	assert_in_range(curve_rise_since(&c, since), 0, MB / 2);
	c = curve_of(evenly);
	assert_near(curve_first_ns(&c, 0.3), 300 * MB, 2);
	assert_near(curve_first_ns(&c, 0.01), 50 * MB, 1); // not its start-up
	assert_near(curve_rise_since(&c, 500 * MB), 550000, 2);
	c = curve_of(up_and_down);
	assert_int_equal(curve_rise_since(&c, 500 * MB), 0);
}

static uint64_t table_of_a_late_start(uint64_t ms) {
	return ms < 80 ? 0 : ms < 120 ? (ms - 80) * 25000 : MB;
}

/** The loader's time, or that until a server's first request, is no part of its start. */
static void measures_the_start_from_the_first_heap(void **state) {
	(void)state;
	struct curve c = curve_of(table_of_a_late_start);
	assert_int_equal(curve_judge(&c).shape, CURVE_STOPPED);
	c.start_ns = 80 * MB;
	assert_int_equal(curve_judge(&c).shape, CURVE_AT_START);
	c = curve_of(table_later); // what comes later is no start for it
	c.start_ns = 10 * MB;
	assert_int_equal(curve_judge(&c).shape, CURVE_ONCE);
}

/** 400 ms up, then all of it goes at once; the last wave is there at the end. */
static uint64_t wave(uint64_t ms) {
	return (ms + 200) % 400 * 2500;
}

static uint64_t last_wave(uint64_t ms) {
	return ms < 600 ? 0 : wave(ms);
}

static uint64_t wave_above(uint64_t ms) {
	return wave(ms) + 2 * MB;
}

static uint64_t last_wave_above(uint64_t ms) {
	return last_wave(ms) + 2 * MB;
}

static uint64_t slow_wave(uint64_t ms) {
	return ms < 600 ? ms * 2000 : (ms - 600) * 2000;
}

static uint64_t last_slow_wave(uint64_t ms) {
	return ms < 600 ? 0 : slow_wave(ms);
}

static uint64_t wave_with_leak(uint64_t ms) {
	return (ms * 3 % 400) * 2500 + ms * 600;
}

static uint64_t leak_below(uint64_t ms) {
	return ms * 600;
}

static uint64_t spike_before(uint64_t ms) {
	return ms < 40 ? 2 * MB : last_slow_wave(ms);
}

/** The last wave of several is no growth, though no fall is behind it; what is left below them is. */
static void tells_growth_from_waves(void **state) {
	(void)state;
	static const struct {
		uint64_t (*live)(uint64_t ms), (*kept)(uint64_t ms);
		enum curve_waves waves;
	} of[] = {
			{wave, last_wave, CURVE_LAST_WAVE},
			{wave_above, last_wave_above, CURVE_LAST_WAVE},
			{slow_wave, last_slow_wave, CURVE_LAST_WAVE},
			{wave_with_leak, leak_below, CURVE_BELOW_WAVES},
			{evenly, evenly, CURVE_NO_WAVES},
			{with_noise, evenly, CURVE_NO_WAVES},
			{spike_before, last_slow_wave, CURVE_NO_WAVES},
	};
	static uint64_t held[POINTS];
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		struct curve live = curve_of(of[i].live), kept = live;
		memcpy(held, bytes, sizeof held);
		live.bytes = held;
		struct curve_facts grew = judge(of[i].kept);
		assert_int_equal(grew.shape, CURVE_GREW);
		if (curve_find_waves(&live, &kept, &grew) != of[i].waves) {
			fail_msg("waves %zu: %d", i, curve_find_waves(&live, &kept, &grew));
		}
	}
}

static void needs_points(void **state) {
	(void)state;
	struct curve c = {times, bytes, 3, 0};
	assert_int_equal(curve_judge(&c).shape, CURVE_OTHER);
	struct curve_level level;
	assert_false(curve_find_level(&c, &level));
	c.n = 0;
	assert_int_equal(curve_judge(&c).shape, CURVE_OTHER);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(knows_the_shapes),
			cmocka_unit_test(measures_growth),
			cmocka_unit_test(measures_bursts_and_levels),
			cmocka_unit_test(knows_since_when_it_came_at_the_end),
			cmocka_unit_test(finds_how_long_a_spike_lasts),
			cmocka_unit_test(finds_the_level_that_is_held),
			cmocka_unit_test(measures_the_rise_since_a_moment),
			cmocka_unit_test(measures_the_start_from_the_first_heap),
			cmocka_unit_test(tells_growth_from_waves),
			cmocka_unit_test(needs_points),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
