// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "formats/formats.h"
#include "formats/profile.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

// Random profiles through encoders and back: the same stacks with the same numbers must come out.
// What is compared is written down in full, stack by stack, and sorted: slow, and obvious.

enum { N_FUNCTIONS = 9, ROUNDS = 60 };

struct random {
	uint64_t state;
};

static uint32_t next(struct random *r, uint32_t below) {
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(r->state >> 33) % below;
}

// Where a random stack is: the function and line follow from it, as in a real program
struct place {
	uint64_t address;
	uint32_t inline_depth;
};

/** Frames with files, lines, addresses; some inlined into their callers. */
static uint32_t random_frame(struct profile_maker *m, struct random *r, struct place *place,
		bool may_inline) {
	static const char *const names[N_FUNCTIONS] = {"main", "operator new(unsigned long)",
			"std::vector<int, std::allocator<int> >::push_back(int&&)", "a \"quoted\" one",
			"lambda; with semicolon", "(anonymous namespace)::run()", "caf\xc3\xa9", "x", "f(int)"};
	bool is_inlined = may_inline && next(r, 3) == 0;
	place->inline_depth = is_inlined ? place->inline_depth + 1 : 0;
	if (!is_inlined) {
		place->address = 0x400000 + next(r, 1000) * 16;
	}
	uint32_t i = (uint32_t)(place->address / 16 + place->inline_depth) % N_FUNCTIONS;
	char file[32];
	(void)snprintf(file, sizeof file, "/src/file%u.cpp", i);
	struct profile_mapping mapping = {.start = 0x400000,
			.end = 0x800000,
			.path = profile_maker_string(m, slice_of_text("/usr/bin/program"))};
	struct profile_frame f = {
			.function = profile_maker_string(m, slice_of_text(names[i])),
			.file = profile_maker_string(m, slice_of_text(file)),
			.line = 1 + (uint32_t)(place->address % 97) + place->inline_depth,
			.mapping = profile_maker_mapping(m, &mapping),
			.address = place->address,
			.is_inlined = is_inlined,
	};
	return profile_maker_frame(m, &f);
}

static struct profile random_profile(struct arena *arena, struct random *r, uint32_t known) {
	struct profile_maker m;
	struct profile p;
	profile_maker_init(&m, arena);
	m.head.known = known;
	m.head.program = profile_maker_string(&m, slice_of_text("/usr/bin/program"));
	m.head.command = profile_maker_string(&m, slice_of_text("/usr/bin/program --all"));
	m.head.duration_ns = 5000000000;
	m.head.peak_time_ns = 2000000000;
	uint32_t n = 1 + next(r, 30);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = 0, depth = 1 + next(r, 8);
		struct place place = {0};
		for (uint32_t d = 0; d < depth; d++) {
			node = profile_maker_node(&m, node, random_frame(&m, r, &place, d > 0));
		}
		struct profile_sample *s = profile_maker_sample(&m, &(struct profile_sample){.node = node});
		for (int v = 0; v < N_PROFILE_VALUES; v++) {
			s->values[v] += known >> v & 1 ? 1 + next(r, 100000) : 0;
		}
	}
	assert_true(profile_maker_take(&m, &p, NULL));
	profile_maker_finish(&m);
	return p;
}

// ---- writing down

enum detail { BY_FUNCTION, BY_LINE, BY_ADDRESS };

static void put_frame(struct buffer *out, const struct profile *p, const struct profile_frame *f,
		enum detail detail) {
	struct slice name = profile_text(p, f->function);
	for (size_t i = 0; i < name.size; i++) {
		buffer_u8(out, detail == BY_FUNCTION && name.data[i] == ';' ? ':' : name.data[i]);
	}
	if (detail >= BY_LINE) {
		buffer_printf(out, " (%.*s:%u)%s", SLICE_ARG(profile_text(p, f->file)), f->line,
				f->is_inlined ? " inlined" : "");
	}
	if (detail >= BY_ADDRESS) {
		buffer_printf(out, " 0x%" PRIx64 " %.*s", f->address,
				SLICE_ARG(profile_text(p, p->mappings.items[f->mapping].path)));
	}
	buffer_u8(out, '<');
}

static int compare_texts(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/** A line per stack and value, equal stacks added up, sorted. */
static char *written_down(const struct profile *p, enum profile_value value, enum detail detail,
		struct arena *arena) {
	char **stacks = arena_new(arena, char *, p->samples.n);
	uint64_t *sums = arena_new(arena, uint64_t, p->samples.n);
	char **lines = arena_new(arena, char *, p->samples.n);
	uint32_t n = 0, n_lines = 0;
	for (uint32_t i = 0; i < p->samples.n; i++) {
		struct buffer text = {0};
		for (uint32_t at = p->samples.items[i].node; at; at = p->nodes.items[at].parent) {
			put_frame(&text, p, &p->frames.items[p->nodes.items[at].frame], detail);
		}
		char *stack = arena_text(arena, buffer_view(&text));
		buffer_finish(&text);
		uint32_t k = 0;
		while (k < n && strcmp(stacks[k], stack) != 0) {
			k++;
		}
		stacks[k] = stack;
		n += k == n;
		sums[k] += p->samples.items[i].values[value];
	}
	struct buffer out = {0};
	for (uint32_t i = 0; i < n; i++) {
		if (sums[i]) {
			buffer_clear(&out);
			buffer_printf(&out, "%s %" PRIu64 "\n", stacks[i], sums[i]);
			lines[n_lines++] = arena_text(arena, buffer_view(&out));
		}
	}
	qsort(lines, n_lines, sizeof *lines, compare_texts);
	buffer_clear(&out);
	for (uint32_t i = 0; i < n_lines; i++) {
		buffer_text(&out, lines[i]);
	}
	char *all = arena_text(arena, buffer_view(&out));
	buffer_finish(&out);
	return all;
}

static void assert_same(const struct profile *a, const struct profile *b, enum profile_value value,
		enum detail detail, struct arena *arena) {
	assert_string_equal(written_down(b, value, detail, arena),
			written_down(a, value, detail, arena));
}

// ---- there and back

static const struct write_options live = {.shown = PROFILE_LIVE_BYTES},
								  peak = {.shown = PROFILE_PEAK_BYTES};

static void folded_comes_back(void **state) {
	(void)state;
	struct random r = {1};
	for (int round = 0; round < ROUNDS; round++) {
		struct arena arena = {0};
		struct buffer out = {0};
		struct profile p = random_profile(&arena, &r, 1u << PROFILE_PEAK_BYTES), back;
		assert_true(folded_encode(&out, &p, &peak, NULL));
		assert_true(folded_knows(buffer_view(&out)));
		assert_true(profile_decode(folded_decode, &back, buffer_view(&out), &arena, NULL));
		assert_same(&p, &back, PROFILE_PEAK_BYTES, BY_FUNCTION, &arena);
		buffer_finish(&out);
		arena_finish(&arena);
	}
}

static void pprof_comes_back(void **state) {
	(void)state;
	struct random r = {2};
	for (int round = 0; round < ROUNDS; round++) {
		struct arena arena = {0};
		struct buffer out = {0};
		uint32_t known = 1 + next(&r, (1u << N_PROFILE_VALUES) - 1);
		struct profile p = random_profile(&arena, &r, known), back;
		assert_true(pprof_encode(&out, &p, &peak, NULL));
		assert_true(pprof_knows(buffer_view(&out)));
		assert_true(profile_decode(pprof_decode, &back, buffer_view(&out), &arena, NULL));
		assert_int_equal(back.known, known);
		assert_int_equal(back.duration_ns, p.duration_ns);
		for (int v = 0; v < N_PROFILE_VALUES; v++) {
			assert_same(&p, &back, (enum profile_value)v, BY_ADDRESS, &arena);
		}
		buffer_finish(&out);
		arena_finish(&arena);
	}
}

static void massif_comes_back(void **state) {
	(void)state;
	struct random r = {3};
	static const struct write_options all = {
			.massif = {.threshold_percent = 0, .detailed_every = 1}};
	for (int round = 0; round < ROUNDS; round++) {
		struct arena arena = {0};
		struct buffer out = {0};
		uint32_t known = 1u << PROFILE_PEAK_BYTES | 1u << PROFILE_LIVE_BYTES;
		struct profile p = random_profile(&arena, &r, known), back;
		assert_true(massif_encode(&out, &p, &all, NULL));
		assert_true(massif_knows(buffer_view(&out)));
		struct err err = {0};
		assert_true(profile_decode(massif_decode, &back, buffer_view(&out), &arena, &err));
		assert_int_equal(back.known, known);
		assert_same(&p, &back, PROFILE_PEAK_BYTES, BY_LINE, &arena);
		assert_same(&p, &back, PROFILE_LIVE_BYTES, BY_LINE, &arena);
		buffer_finish(&out);
		arena_finish(&arena);
	}
}

static void dhat_comes_back(void **state) {
	(void)state;
	struct random r = {4};
	uint32_t known = ((1u << N_PROFILE_VALUES) - 1) & ~(1u << PROFILE_TEMPORARY);
	for (int round = 0; round < ROUNDS; round++) {
		struct arena arena = {0};
		struct buffer out = {0};
		struct profile p = random_profile(&arena, &r, known), back;
		assert_true(dhat_encode(&out, &p, &live, NULL));
		assert_true(dhat_knows(buffer_view(&out)));
		assert_true(profile_decode(dhat_decode, &back, buffer_view(&out), &arena, NULL));
		assert_int_equal(back.known, known);
		for (int v = 0; v < N_PROFILE_VALUES; v++) {
			if (known >> v & 1) {
				assert_same(&p, &back, (enum profile_value)v, BY_LINE, &arena);
			}
		}
		buffer_finish(&out);
		arena_finish(&arena);
	}
}

// ---- those that are not read back

static void json_of_all_kinds_is_well_formed(void **state) {
	(void)state;
	struct random r = {5};
	for (int round = 0; round < ROUNDS; round++) {
		struct arena arena = {0};
		struct profile p = random_profile(&arena, &r, (1u << N_PROFILE_VALUES) - 1);
		struct buffer out[4] = {{0}};
		assert_true(speedscope_encode(&out[0], &p, &live, NULL));
		assert_true(firefox_encode(&out[1], &p, &live, NULL));
		assert_true(dhat_encode(&out[2], &p, &live, NULL));
		assert_true(json_profile_encode(&out[3], &p, &live, NULL));
		for (size_t i = 0; i < 4; i++) {
			struct json_reader j;
			json_reader_init(&j, buffer_view(&out[i]));
			json_skip(&j);
			assert_false(j.failed);
			assert_int_equal(json_peek(&j), 0); // and nothing behind it
			json_reader_finish(&j);
			buffer_finish(&out[i]);
		}
		arena_finish(&arena);
	}
}

static void callgrind_counts_recursion_once(void **state) {
	(void)state;
	struct arena arena = {0};
	struct profile_maker m;
	struct profile p;
	profile_maker_init(&m, &arena);
	m.head.known = 1u << PROFILE_LIVE_BYTES;
	struct profile_frame main_frame = {.function = profile_maker_string(&m, slice_of_text("main"))};
	struct profile_frame f = {.function = profile_maker_string(&m, slice_of_text("f")), .line = 7};
	uint32_t node = profile_maker_node(&m, 0, profile_maker_frame(&m, &main_frame));
	for (int i = 0; i < 3; i++) {
		node = profile_maker_node(&m, node, profile_maker_frame(&m, &f));
	}
	profile_maker_sample(&m, &(struct profile_sample){.node = node})
			->values[PROFILE_LIVE_BYTES] = 100;
	assert_true(profile_maker_take(&m, &p, NULL));
	struct buffer out = {0};
	assert_true(callgrind_encode(&out, &p, &live, NULL));
	buffer_u8(&out, 0);
	const char *text = (const char *)out.data;
	assert_non_null(strstr(text, "events: NeverFreedBytes\nsummary: 100\n"));
	assert_non_null(strstr(text, "calls=1 7\n7 100\n")); // f calls f, once
	assert_non_null(strstr(text, "calls=1 7\n0 100\n")); // main calls f
	assert_null(strstr(text, " 300"));
	buffer_finish(&out);
	profile_maker_finish(&m);
	arena_finish(&arena);
}

static void a_comparison_has_two_sides(void **state) {
	(void)state;
	struct arena arena = {0};
	struct profile_maker m;
	struct profile p;
	profile_maker_init(&m, &arena);
	m.head.known = 1u << PROFILE_PEAK_BYTES;
	m.head.is_diff = true;
	struct profile_frame f = {.function = profile_maker_string(&m, slice_of_text("f"))};
	uint32_t node = profile_maker_node(&m, 0, profile_maker_frame(&m, &f));
	profile_maker_sample(&m, &(struct profile_sample){.node = node})
			->values[PROFILE_PEAK_BYTES] = 30;
	profile_maker_sample(&m, &(struct profile_sample){.node = node, .is_base = true})
			->values[PROFILE_PEAK_BYTES] = 12;
	assert_true(profile_maker_take(&m, &p, NULL));
	struct buffer out = {0};
	assert_true(folded_encode(&out, &p, &peak, NULL));
	assert_true(slice_equal(buffer_view(&out), slice_of_text("f 12 30\n")));
	buffer_clear(&out);
	assert_true(csv_encode(&out, &p, &peak, NULL));
	buffer_u8(&out, 0);
	assert_non_null(strstr((const char *)out.data, ",,,,,30,,,,,,,12,,,\"f\"\r\n"));
	buffer_finish(&out);
	profile_maker_finish(&m);
	arena_finish(&arena);
}

// ---- foreign files, by hand

static const struct profile_sample *only_sample(const struct profile *p) {
	assert_int_equal(p->samples.n, 1);
	return &p->samples.items[0];
}

static void reads_gperftools(void **state) {
	(void)state;
	static const char text[] = "heap profile:      1:      100 [     3:      300] @ heapprofile\n"
							   "     1:      100 [     3:      300] @ 0x401010 0x401200\n"
							   "\nMAPPED_LIBRARIES:\n"
							   "00400000-00402000 r-xp 00001000 fd:01 1234   /usr/bin/program\n";
	struct arena arena = {0};
	struct profile p;
	assert_true(heap_dump_knows(slice_of_text(text)));
	assert_true(profile_decode(heap_dump_decode, &p, slice_of_text(text), &arena, NULL));
	const struct profile_sample *s = only_sample(&p);
	assert_int_equal(s->values[PROFILE_LIVE_OBJECTS], 1);
	assert_int_equal(s->values[PROFILE_LIVE_BYTES], 100);
	assert_int_equal(s->values[PROFILE_ALLOC_BYTES], 300);
	const struct profile_frame *inner = &p.frames.items[p.nodes.items[s->node].frame];
	assert_int_equal(inner->address, 0x40100f);
	assert_int_equal(inner->mapping, 1);
	assert_int_equal(p.mappings.items[1].file_offset, 0x1000);
	arena_finish(&arena);
}

static void scales_each_record_once(void **state) {
	(void)state;
	// One block of the rate's own size: noticed with 1 - 1/e; and two stacks, scaled apart
	static const char text[] = "heap_v2/1000\n  t*: 11: 11000 [0: 0]\n"
							   "@ 0x10 0x20\n  t*: 10: 10000 [0: 0]\n  t0: 10: 10000 [0: 0]\n"
							   "@ 0x10 0x30\n  t*: 1: 1000000 [0: 0]\n";
	struct arena arena = {0};
	struct profile p;
	assert_true(heap_dump_knows(slice_of_text(text)));
	assert_true(profile_decode(heap_dump_decode, &p, slice_of_text(text), &arena, NULL));
	assert_int_equal(p.samples.n, 2);
	assert_int_equal(p.samples.items[0].values[PROFILE_LIVE_OBJECTS], 16); // 10 / 0.632
	assert_int_equal(p.samples.items[0].values[PROFILE_LIVE_BYTES], 15820);
	assert_int_equal(p.samples.items[1].values[PROFILE_LIVE_BYTES], 1000000);
	assert_false(profile_knows(&p, PROFILE_ALLOC_BYTES)); // "[0: 0]": not counted, not zero
	arena_finish(&arena);
}

static void reads_v8(void **state) {
	(void)state;
	static const char text[] =
			"{\"head\":{\"callFrame\":{\"functionName\":\"(root)\",\"scriptId\":\"0\",\"url\":\"\","
			"\"lineNumber\":-1,\"columnNumber\":-1},\"selfSize\":0,\"id\":1,\"children\":[{"
			"\"callFrame\":{\"functionName\":\"\",\"scriptId\":\"1\",\"url\":\"file:///a/b.js\","
			"\"lineNumber\":4,\"columnNumber\":1},\"selfSize\":640,\"id\":2,\"children\":[]}]},"
			"\"samples\":[]}";
	struct arena arena = {0};
	struct profile p;
	assert_true(v8_heap_profile_knows(slice_of_text(text)));
	assert_true(profile_decode(v8_heap_profile_decode, &p, slice_of_text(text), &arena, NULL));
	assert_string_equal(written_down(&p, PROFILE_LIVE_BYTES, BY_LINE, &arena),
			"(anonymous) (/a/b.js:5)< 640\n");
	assert_int_equal(p.known, 1u << PROFILE_LIVE_BYTES);
	arena_finish(&arena);
}

static void refuses_what_it_cannot_read(void **state) {
	(void)state;
	struct arena arena = {0};
	struct profile p;
	struct err err = {0};
	assert_false(
			profile_decode(folded_decode, &p, slice_of_text("a;b 1\nno number\n"), &arena, &err));
	assert_string_equal(err.text, "line 2 does not end with a number");
	assert_false(profile_decode(dhat_decode, &p, slice_of_text("{\"dhatFileVersion\":3}"), &arena,
			&err));
	assert_non_null(strstr(err.text, "version 3"));
	assert_false(profile_decode(dhat_decode, &p,
			slice_of_text("{\"dhatFileVersion\":2,\"pps\":[{\"fs\":[9]}],\"ftbl\":[\"[root]\"]}"),
			&arena, &err));
	assert_non_null(strstr(err.text, "not in the table"));
	assert_false(profile_decode(heap_dump_decode, &p, slice_of_text("heap profile: nonsense\n"),
			&arena, &err));
	assert_false(
			profile_decode(massif_decode, &p, slice_of_text("desc: x\ncmd: y\n"), &arena, &err));
	assert_false(folded_knows(slice_of_text("{\"a\": 1}\n")));
	assert_false(folded_knows(slice_of_text("int main(void) { return 0;\n}\n")));
	arena_finish(&arena);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(folded_comes_back),
			cmocka_unit_test(pprof_comes_back),
			cmocka_unit_test(massif_comes_back),
			cmocka_unit_test(dhat_comes_back),
			cmocka_unit_test(json_of_all_kinds_is_well_formed),
			cmocka_unit_test(callgrind_counts_recursion_once),
			cmocka_unit_test(a_comparison_has_two_sides),
			cmocka_unit_test(reads_gperftools),
			cmocka_unit_test(scales_each_record_once),
			cmocka_unit_test(reads_v8),
			cmocka_unit_test(refuses_what_it_cannot_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
