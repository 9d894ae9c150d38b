// SPDX-License-Identifier: MIT
#include "runtimes/v8_image.h"
#include "sys/unpack.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

// ---- the images

static char *whole_file(const char *path) {
	struct err err;
	struct buffer text = {0};
	struct unpack *u = unpack_open(path, 64 << 20, &err);
	assert_non_null(u);
	for (struct slice s;;) {
		assert_true(unpack_next(u, &s, &err));
		if (s.size == 0) {
			break;
		}
		buffer_slice(&text, s);
	}
	unpack_close(u);
	buffer_u8(&text, 0);
	assert_false(text.failed);
	return (char *)text.data;
}

static const char *image_path(const char *name) {
	static char path[4096];
	const char *source = getenv("HEAPTRACK_SOURCE");
	snprintf(path, sizeof path, "%s/tests/runtimes/images/%s.zst", source ?: ".", name);
	return path;
}

/** Calls `at_stop` for each stop of an image. */
static void for_stops(const char *name, void (*at_stop)(struct image *, void *), void *user) {
	struct image *m = calloc(1, sizeof *m);
	char *text = whole_file(image_path(name));
	size_t n_stops = 0;
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		*end++ = '\0';
		if (!image_line(m, line)) {
			continue;
		}
		if (n_stops++ == 0) {
			struct v8_layout layout;
			struct err err = {0};
			if (!v8_symbols_layout(&m->symbols, &layout, &err)) {
				fail_msg("%s: %s", name, err.text);
			}
			layout.n_bytecodes = m->layout.n_bytecodes;
			layout.n_opcodes = m->layout.n_opcodes;
			memcpy(layout.bytecode_bytes, m->layout.bytecode_bytes, sizeof layout.bytecode_bytes);
			memcpy(layout.operands, m->layout.operands, sizeof layout.operands);
			memcpy(layout.interpreter, m->layout.interpreter, sizeof layout.interpreter);
			m->layout = layout;
		}
		at_stop(m, user);
		image_next_stop(m);
	}
	assert_true(n_stops > 80);
	free(text);
	free(m->granules);
	free(m);
}

static const char *const images[] = {"debian-18", "node-18", "node-20", "node-22", "node-24"};
enum { N_IMAGES = sizeof images / sizeof *images };

// ---- layouts

struct wanted {
	const char *image;
	int32_t major, minor, function_shared, function_code, shared_name, shared_script, shared_flags,
			code_deoptimization, code_positions, code_instructions, code_start, code_flags,
			code_size, bytecode_positions, bytecode_data;
};

static const struct wanted wanted[] = {
		{"debian-18", 10, 2, 24, 48, 16, 32, 48, 16, 24, 128, 0, 48, 40, 32, 56},
		{"node-18", 10, 2, 24, 48, 16, 32, 48, 16, 24, 128, 0, 48, 40, 32, 56},
		{"node-20", 11, 3, 24, 48, 16, 32, 48, 16, 24, 0, 40, 48, 56, 32, 54},
		{"node-22", 12, 4, 32, 24, 16, 32, 48, 8, 16, 0, 40, 48, 52, 24, 64},
		{"node-24", 13, 6, 32, 0, 24, 40, 56, 8, 16, 0, 40, 52, 56, 24, 64},
};

static void check_layout(struct image *m, void *user) {
	const struct wanted *w = user;
	const struct v8_layout *l = &m->layout;
#define SAME(field) assert_int_equal(l->field, w->field)
	SAME(major);
	SAME(minor);
	SAME(function_shared);
	SAME(function_code);
	SAME(shared_name);
	SAME(shared_script);
	SAME(shared_flags);
	SAME(code_deoptimization);
	SAME(code_positions);
	SAME(code_instructions);
	SAME(code_start);
	SAME(code_flags);
	SAME(code_size);
	SAME(bytecode_positions);
	SAME(bytecode_data);
	assert_int_equal(l->of_major, l->major);
	assert_int_equal(l->of_minor, l->minor);
}

static void layouts_are_as_measured(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		for_stops(wanted[i].image, check_layout, (void *)&wanted[i]);
	}
}

static struct v8_layout some_symbols; // of node 24

static void take_symbols(struct image *m, void *user) {
	(void)user;
	some_symbols = m->symbols;
}

static void layouts_that_cannot_be_are_refused(void **state) {
	(void)state;
	struct v8_layout layout;
	struct err err;
	struct v8_layout none = {0};
	assert_false(v8_symbols_layout(&none, &layout, &err));
	assert_string_equal(err.text, "V8 0.0: it is older than 10.2");
	for_stops("node-24", take_symbols, NULL);

	struct v8_layout s = some_symbols;
	assert_true(v8_symbols_layout(&s, &layout, &err));
	s.tagged_size = 4;
	assert_false(v8_symbols_layout(&s, &layout, &err));
	assert_string_equal(err.text, "V8 13.6: tagged_size is impossible");
	s = some_symbols;
	s.shared_script = 0;
	assert_false(v8_symbols_layout(&s, &layout, &err));
	assert_string_equal(err.text, "V8 13.6: shared_script is not known");
	s = some_symbols;
	s.script_source = 12;
	assert_false(v8_symbols_layout(&s, &layout, &err));
	assert_string_equal(err.text, "V8 13.6: script_source is impossible");
	s = some_symbols;
	v8_symbols_add(&s, "v8dbg_class_Script__name__Tagged_Object_", 24);
	assert_false(v8_symbols_layout(&s, &layout, &err));
	assert_non_null(strstr(err.text, "contradict"));
	s = some_symbols;
	s.major = 9;
	assert_false(v8_symbols_layout(&s, &layout, &err));
	assert_string_equal(err.text, "V8 9.6: it is older than 10.2");
}

static void newer_versions_use_the_newest_constants(void **state) {
	(void)state;
	struct v8_layout layout;
	struct err err;
	for_stops("node-24", take_symbols, NULL);
	some_symbols.major = 14;
	some_symbols.minor = 1;
	assert_true(v8_symbols_layout(&some_symbols, &layout, &err));
	assert_int_equal(layout.of_major, 13);
	assert_int_equal(layout.of_minor, 6);
	assert_int_equal(layout.script_id, 64);
}

// ---- frames

static bool is_text(struct slice s, const char *text, size_t bytes) {
	return slice_equal(s, slice_of(text, bytes));
}

struct counts {
	size_t frames, inlined, by_source;
};

/** Each frame as recorded. */
static void check_frames(struct image *m, void *user) {
	struct counts *counts = user;
	for (size_t i = 0; i < m->n_frames; i++) {
		struct v8_heap h = {.layout = &m->layout, .memory = {image_read, m}};
		const struct image_frame *f = &m->frames[i];
		struct arena texts = {0};
		struct v8_named named[V8_MAX_FRAMES];
		uint32_t n = v8_name_frame(&h, &f->frame, &texts, named);
		assert_int_equal(n, f->n_texts);
		for (uint32_t k = 0; k < n; k++) {
			const struct image_text *x = &m->texts[f->first_text + k];
			assert_true(is_text(named[k].function, x->function, x->function_bytes));
			assert_true(is_text(named[k].file, x->file, x->file_bytes));
			assert_int_equal(named[k].line, x->line);
			counts->by_source += named[k].is_guess;
		}
		counts->frames++;
		counts->inlined += n - 1;
		v8_heap_finish(&h);
		arena_finish(&texts);
	}
}

static void frames_are_as_recorded(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		struct counts counts = {0};
		for_stops(images[i], check_frames, &counts);
		assert_true(counts.frames > 750);
		assert_true(counts.inlined > 10);
		assert_true(counts.by_source > 0);
	}
}

/** What was decoded is what Error's stack said, where that has a name. */
static void check_truth(struct image *m, void *user) {
	size_t *n_named = user;
	size_t k = 0;
	for (size_t i = 0; i < m->n_texts; i++) {
		const struct image_text *x = &m->texts[i], *t = &m->truths[k];
		if (x->line == 0) { // a builtin
			assert_int_equal(x->file_bytes, 0);
			continue;
		}
		assert_true(k++ < m->n_truths);
		assert_int_equal(x->line, t->line);
		assert_true(is_text(slice_of(x->file, x->file_bytes), t->file, t->file_bytes));
		bool is_computed = t->function_bytes == 8 && memcmp(t->function, "computed", 8) == 0;
		if (t->function_bytes && !is_computed) {
			assert_true(is_text(slice_of(x->function, x->function_bytes), t->function,
					t->function_bytes));
			++*n_named;
		}
	}
	assert_int_equal(k, m->n_truths);
}

static void frames_are_those_of_errors_stack(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		size_t n_named = 0;
		for_stops(images[i], check_truth, &n_named);
		assert_true(n_named > 500);
	}
}

// ---- units

/** An image, with code at an address: other code after so many reads of it. */
struct code_at {
	struct image *image;
	uint64_t at, code;
	int n_same;
	bool is_missing; // memory that the image was not read for; of long texts the rest is zeros
};

static bool read_code(void *context, uint64_t address, void *out, size_t n) {
	struct code_at *c = context;
	bool ok = image_read(c->image, address, out, n);
	bool is_block = n == V8_BLOCK_BYTES && address % V8_BLOCK_BYTES == 0;
	bool is_code = (is_block || n == sizeof c->code) && c->at - address <= n - sizeof c->code;
	if (is_block && !ok && !(is_code && c->n_same <= 1)) {
		return false; // less is read instead
	}
	if (is_code) {
		memset(out, 0, ok ? 0 : n);
		uint64_t code = c->n_same-- > 0 ? c->code : c->code + 1;
		memcpy((uint8_t *)out + (c->at - address), &code, sizeof code);
		return true;
	}
	for (size_t i = 0; !ok && n > IMAGE_GRANULE && i < n; i++) {
		((uint8_t *)out)[i] = 0;
		(void)image_read(c->image, address + i, (uint8_t *)out + i, 1);
	}
	c->is_missing |= !ok && n <= IMAGE_GRANULE;
	return ok || n > IMAGE_GRANULE;
}

/** The unit that the recorder makes of a frame. False: it has none. */
static bool unit_of_frame(struct image *m, const struct v8_frame *f, struct wire_unit *u) {
	const struct v8_layout *l = &m->layout;
	struct code_at none = {.image = m};
	struct v8_heap heap = {.layout = l, .memory = {read_code, &none}, .steps = V8_STEPS};
	struct v8_heap *h = &heap;
	struct v8_shared own;
	enum v8_kind kind = v8_frame_kind(l, f);
	if (kind < V8_INTERPRETED || !v8_shared_of_function(h, f->function, &own)) {
		return false;
	}
	uint32_t literal = (uint32_t)v8_int(h, own.object, l->shared_flags + l->shared_literal_id);
	uint64_t script = (uint32_t)v8_number(h, own.script, l->script_id);
	uint64_t unique = (uint32_t)v8_int(h, own.object, l->shared_flags + l->shared_unique_id);
	bool is_own = kind == V8_BUILTIN; // V8's: it has no numbers
	*u = (struct wire_unit){
			.identity = {is_own                        ? 0
							: l->shared_unique_id != 0 ? unique
													   : script << 32 | literal,
					kind == V8_INTERPRETED ? 0 : f->pc, kind == V8_COMPILED ? 0xe8 : 0},
			.object = own.object,
			.excerpt_at = kind == V8_COMPILED ? f->function : f->bytecode_array,
	};
	return !none.is_missing && (!is_own || own.script == 0);
}

/**
 * Is it read if code is the same for so many reads? `is_right`: and as recorded, as far as the
 * image has what is read for it.
 */
static bool reads_unit(struct image *m, const struct image_frame *f, const struct wire_unit *u,
		int n_same, bool *is_right) {
	struct code_at code = {m, u->identity[1] - 8, u->identity[2], n_same, false};
	struct v8_heap h = {.layout = &m->layout, .memory = {read_code, &code}};
	struct arena texts = {0};
	struct v8_unit read;
	bool ok = v8_unit_read(&h, u, &texts, &read);
	*is_right = ok && read.n == f->n_texts;
	for (uint32_t k = 0; *is_right && k < read.n; k++) {
		const struct image_text *x = &m->texts[f->first_text + k];
		int64_t at = (int64_t)v8_number_of(f->frame.bytecode_offset) -
				(m->layout.bytecode_data - 1);
		uint32_t line = read.positions.size ? v8_unit_line(&h, &read, (uint32_t)at + 1)
											: read.frames[k].line;
		*is_right = line == x->line &&
				is_text(read.frames[k].function, x->function, x->function_bytes) &&
				is_text(read.frames[k].file, x->file, x->file_bytes);
	}
	*is_right |= code.is_missing;
	v8_heap_finish(&h);
	arena_finish(&texts);
	return ok;
}

/** A function is read where it was seen, and only while that function and that code are there. */
static void check_units(struct image *m, void *user) {
	size_t *n_compiled = user;
	for (size_t i = 0; i < m->n_frames; i++) {
		const struct image_frame *f = &m->frames[i];
		struct wire_unit u;
		bool is_right;
		if (!unit_of_frame(m, &f->frame, &u)) {
			continue;
		}
		bool ok = reads_unit(m, f, &u, INT_MAX, &is_right);
		assert_true(is_right);
		if (ok && u.identity[2] != 0) {
			assert_false(reads_unit(m, f, &u, 0, &is_right)); // other code from the start
			assert_false(reads_unit(m, f, &u, 1, &is_right)); // it came while the names were read
			++*n_compiled;
		}
		u.identity[0]++; // another function's number
		assert_false(reads_unit(m, f, &u, INT_MAX, &is_right));
		u.identity[0]--;
		u.object += 8;
		assert_false(reads_unit(m, f, &u, INT_MAX, &is_right));
	}
}

static void units_are_read_while_they_are_the_same(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		size_t n_compiled = 0;
		for_stops(images[i], check_units, &n_compiled);
		assert_true(n_compiled > 5);
	}
}

/** Where did a function that was read begin, and end? */
static struct v8_shared range_of(struct image *m, uint64_t object) {
	struct v8_heap h = {.layout = &m->layout, .memory = {image_read, m}, .steps = V8_STEPS};
	struct v8_shared s;
	return v8_shared_of(&h, object, &s) ? s : (struct v8_shared){.end = V8_NO_NUMBER};
}

/**
 * Code of another function, which ends with the same call, may have come to lie where a function's
 * was. What it says is not said of that one; only lines are, if the other is a part of it. Node
 * 24's image was not read for the function of code without exits.
 */
static void exchange_code(struct image *m, void *user) {
	size_t *n_exchanged = user;
	for (size_t i = 0; i < m->n_frames * m->n_frames; i++) {
		const struct image_frame *f = &m->frames[i / m->n_frames], *g = &m->frames[i % m->n_frames];
		struct wire_unit u, other;
		struct code_at code = {m, g->frame.pc - 8, 0xe8, INT_MAX, false};
		struct v8_heap h = {.layout = &m->layout, .memory = {read_code, &code}};
		struct arena texts = {0};
		struct v8_unit read;
		if (!unit_of_frame(m, &f->frame, &u) || !unit_of_frame(m, &g->frame, &other) ||
				u.identity[2] == 0 || other.identity[2] == 0) {
			continue;
		}
		struct v8_shared own = range_of(m, u.object), its = range_of(m, other.object);
		bool is_other = own.object != its.object && its.end >= 0;
		bool is_part = its.start >= own.start && its.end <= own.end;
		u.identity[1] = other.identity[1];
		u.excerpt_at = other.excerpt_at;
		(void)v8_unit_read(&h, &u, &texts, &read); // of other lines than its own there is no image
		if (is_other && read.n > 0 && (!is_part || m->layout.first_exit == 0)) {
			assert_int_equal(read.n, 1);
			assert_true(read.is_vague || is_part);
			++*n_exchanged;
		}
		v8_heap_finish(&h);
		arena_finish(&texts);
	}
}

static void other_code_names_nothing(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		size_t n_exchanged = 0;
		for_stops(images[i], exchange_code, &n_exchanged);
		assert_true(n_exchanged > 5);
	}
}

// ---- what is wrong

static void check_fits(struct image *m, void *user) {
	size_t *n_unfit = user;
	for (size_t i = 0; i < m->n_frames; i++) {
		const struct image_text *x = &m->texts[m->frames[i].first_text];
		struct v8_heap h = {.layout = &m->layout, .memory = {image_read, m}};
		bool is_fit = v8_frame_fits(&h, &m->frames[i].frame);
		// builtins have no script
		*n_unfit += !is_fit && x->line != 0;
	}
}

static void layouts_fit_where_they_are_from(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		size_t n_unfit = 0;
		for_stops(images[i], check_fits, &n_unfit);
		assert_int_equal(n_unfit, 0);
	}
}

/** What fits is still as recorded, or a wrong field has no part in it. */
struct wrong_layouts {
	size_t stop, tried, refused, same, less, other;
	uint64_t random;
};

static bool is_as_recorded(const struct image *m, const struct image_frame *f,
		const struct v8_named *named, uint32_t n) {
	return n == f->n_texts &&
			ALL(k, n,
					is_text(named[k].function, m->texts[f->first_text + k].function,
							m->texts[f->first_text + k].function_bytes) &&
							named[k].line == m->texts[f->first_text + k].line);
}

static void try_layout(struct image *m, const struct v8_layout *l, struct wrong_layouts *w) {
	for (size_t i = 0; i < m->n_frames && i < 6; i++) {
		struct v8_heap h = {.layout = l, .memory = {image_read, m}};
		const struct image_frame *f = &m->frames[i];
		struct arena texts = {0};
		struct v8_named named[V8_MAX_FRAMES];
		w->tried++;
		bool is_fit = v8_frame_fits(&h, &f->frame);
		uint32_t n = v8_name_frame(&h, &f->frame, &texts, named);
		bool is_same = is_as_recorded(m, f, named, n);
		w->refused += !is_fit;
		w->same += is_fit && is_same;
		bool is_less = !is_same &&
				(n < f->n_texts ||
						ANY(k, n,
								named[k].line == 0 || named[k].function.size == 0 ||
										named[k].file.size == 0));
		w->less += is_fit && is_less;
		w->other += is_fit && !is_same && !is_less;
		v8_heap_finish(&h);
		arena_finish(&texts);
	}
}

static void try_layouts(struct image *m, void *user) {
	struct wrong_layouts *w = user;
	if (w->stop++ % 15 != 0) {
		return;
	}
	const int32_t *right;
	for (unsigned field = 0; (right = v8_layout_field(&m->layout, field)) != NULL; field++) {
		int32_t value = *right;
		w->random = w->random * 6364136223846793005u + 1;
		const int32_t values[] = {value + 8, value - 8, 0, (int32_t)(w->random >> 33),
				(int32_t)(w->random >> 56)};
		for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
			struct v8_layout l = m->layout;
			*v8_layout_field(&l, field) = values[i];
			try_layout(m, &l, w);
		}
	}
}

static void wrong_layouts_end(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		struct wrong_layouts w = {.random = i};
		for_stops(images[i], try_layouts, &w);
		print_message("%s: %zu tried, %zu refused, %zu the same, %zu less, %zu others\n", images[i],
				w.tried, w.refused, w.same, w.less, w.other);
		assert_true(w.refused > w.tried / 10);
		assert_true(w.same > w.tried / 10);
	}
}

/** Bytes of memory are others than they were. */
static void spoil_memory(struct image *m, void *user) {
	uint64_t *random = user;
	for (int round = 0; round < 8; round++) {
		uint8_t *place[64], was[64];
		for (size_t i = 0; i < 64; i++) {
			*random = *random * 6364136223846793005u + 1442695040888963407u;
			struct image_granule *g = &m->granules[(*random >> 20) % m->n_granules];
			place[i] = &g->bytes[*random >> 58];
			was[i] = *place[i];
			*place[i] = (uint8_t)(*random >> 12);
		}
		for (size_t i = 0; i < m->n_frames; i++) {
			struct v8_heap h = {.layout = &m->layout, .memory = {image_read, m}};
			struct arena texts = {0};
			struct v8_named named[V8_MAX_FRAMES];
			(void)v8_name_frame(&h, &m->frames[i].frame, &texts, named);
			v8_heap_finish(&h);
			arena_finish(&texts);
		}
		for (size_t i = 64; i-- > 0;) {
			*place[i] = was[i];
		}
	}
}

static void spoiled_memory_ends(void **state) {
	(void)state;
	uint64_t random = 1;
	for (size_t i = 0; i < N_IMAGES; i++) {
		for_stops(images[i], spoil_memory, &random);
	}
}

/** Every word that is read is another one: nothing is named wrongly for long, nothing hangs. */
static bool read_noise(void *context, uint64_t address, void *out, size_t n) {
	uint64_t *state = context;
	for (size_t i = 0; i < n; i++) {
		*state = *state * 6364136223846793005u + address;
		((uint8_t *)out)[i] = (uint8_t)(*state >> 56);
	}
	return true;
}

/** Pointers that lead to themselves. */
static bool read_circle(void *context, uint64_t address, void *out, size_t n) {
	(void)address;
	for (size_t i = 0; i < n; i++) {
		((uint8_t *)out)[i] = ((const uint8_t *)context)[i % 8];
	}
	return true;
}

static void noise_and_circles_end(struct image *m, void *user) {
	(void)user;
	uint64_t state = 1, circle = 0x123451;
	for (size_t i = 0; i < m->n_frames; i++) {
		struct v8_heap noise = {.layout = &m->layout, .memory = {read_noise, &state}};
		struct v8_heap circles = {.layout = &m->layout, .memory = {read_circle, &circle}};
		struct arena texts = {0};
		struct v8_named named[V8_MAX_FRAMES];
		struct v8_frame f = m->frames[i].frame;
		(void)v8_name_frame(&noise, &f, &texts, named);
		circle += 8;
		(void)v8_name_frame(&circles, &f, &texts, named);
		v8_heap_finish(&noise);
		v8_heap_finish(&circles);
		arena_finish(&texts);
	}
}

static void garbage_ends(void **state) {
	(void)state;
	for_stops("node-24", noise_and_circles_end, NULL);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(layouts_are_as_measured),
			cmocka_unit_test(layouts_that_cannot_be_are_refused),
			cmocka_unit_test(newer_versions_use_the_newest_constants),
			cmocka_unit_test(frames_are_as_recorded),
			cmocka_unit_test(frames_are_those_of_errors_stack),
			cmocka_unit_test(units_are_read_while_they_are_the_same),
			cmocka_unit_test(other_code_names_nothing),
			cmocka_unit_test(layouts_fit_where_they_are_from),
			cmocka_unit_test(wrong_layouts_end),
			cmocka_unit_test(spoiled_memory_ends),
			cmocka_unit_test(garbage_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
