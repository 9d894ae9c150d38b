// SPDX-License-Identifier: MIT
/* The layouts of CPython's versions, and how one is found in a file. */
#include "base/text.h"
#include "runtimes/python.h"

// Measured with offsetof() of each version's headers, in the order of enum wire_python_field
static const struct version {
	uint16_t version;
	uint16_t code_bytes; // of a code object without its instructions
	uint16_t ascii_bytes, wide_bytes;
	uint32_t fields[N_PYTHON_FIELDS];
} versions[] = {
#define NONE WIRE_NO_FIELD
		{0x030b, 192, 48, 72,
				{40, 576, 0, 16, 8, 152, 56, 8, 32, 48, 56, 68, NONE, 72, 168, 128, 112, 136, 48,
						184}},
		{0x030c, 200, 40, 56,
				{40, NONE, 0, 72, 8, 136, 56, 0, 0, 8, 56, NONE, 70, 68, 176, 128, 112, 136, 40,
						192}},
		{0x030d, 208, 40, 56,
				{632, NONE, 7264, 7344, 8, 152, 72, NONE, 0, 8, 56, NONE, 70, 68, 184, 128, 112,
						136, 40, 200}},
#undef NONE
};

enum {
	NAME_BYTES = 1 << 10,
	FILE_BYTES = 2 << 10,
	LINES_BYTES = 4 << 10,
	TEXT_LENGTH_AT = 16,
	TEXT_CHARACTER_MOST = 4,
	BYTES_HEAD = 32, // before the bytes of a bytes object
};

static void put_steps(struct wire_layout *l, const struct version *v) {
	const struct wire_step steps[] = {
			{STEP_COPY, .bytes = v->code_bytes},
			{STEP_LOAD, .offset = v->fields[PYTHON_QUALIFIED_NAME]},
			{STEP_COPY_COUNTED, TEXT_CHARACTER_MOST, v->wide_bytes, NAME_BYTES, TEXT_LENGTH_AT},
			{STEP_LOAD, .offset = v->fields[PYTHON_FILE]},
			{STEP_COPY_COUNTED, TEXT_CHARACTER_MOST, v->wide_bytes, FILE_BYTES, TEXT_LENGTH_AT},
			{STEP_LOAD, .offset = v->fields[PYTHON_LINE_TABLE]},
			{STEP_COPY_COUNTED, 1, BYTES_HEAD, LINES_BYTES, TEXT_LENGTH_AT},
	};
	_Static_assert(sizeof steps <= sizeof l->steps, "fits");
	memcpy(l->steps, steps, sizeof steps);
}

static bool find_symbol(const struct elf_image *e, const char *name, struct elf_symbol *out) {
	struct elf_symbols s = elf_symbols_all(e);
	return elf_symbols_find(&s, name, out);
}

/** The loop, and what the compiler has moved out of it, of which a stripped file says nothing. */
static void find_ranges(const struct elf_image *e, uint64_t bias, struct wire_layout *l) {
	static const char loop[] = "_PyEval_EvalFrameDefault";
	struct elf_symbols s = elf_symbols_all(e);
	struct elf_symbol symbol;
	while (l->n_ranges < WIRE_N_RANGES && elf_symbols_next(&s, &symbol)) {
		struct slice name = slice_of_text(symbol.name);
		bool is_part = starts_with(name, loop) &&
				(name.size == sizeof loop - 1 || name.data[sizeof loop - 1] == '.');
		uint64_t start = bias + symbol.address;
		bool is_new = is_part && symbol.section != 0 && symbol.size > 0 &&
				(l->n_ranges == 0 || l->ranges[0].start != start);
		if (is_new) {
			l->ranges[l->n_ranges++] = (struct wire_code_range){start, start + symbol.size};
		}
	}
}

bool python_layout_of(uint16_t version, struct wire_layout *l) {
	const struct version *v = FIND(row, versions, sizeof versions / sizeof *versions,
			row->version == version);
	*l = (struct wire_layout){.kind = MODULE_PYTHON, .version = version};
	if (v) {
		memcpy(l->fields, v->fields, sizeof v->fields);
		put_steps(l, v);
	}
	return v != NULL;
}

enum python_found python_find(const struct elf_image *e, uint64_t bias, struct wire_layout *l) {
	struct elf_symbol state, version, code_type;
	uint64_t hex = 0;
	if (!find_symbol(e, "_PyRuntime", &state)) {
		return PYTHON_ABSENT;
	}
	if (find_symbol(e, "Py_Version", &version)) {
		struct slice bytes = elf_bytes_from(e, version.address, NULL);
		memcpy(&hex, bytes.data, bytes.size < sizeof hex ? 0 : sizeof hex);
	}
	if (!python_layout_of((uint16_t)(hex >> 16), l)) {
		return PYTHON_UNKNOWN;
	}
	find_ranges(e, bias, l);
	if (!find_symbol(e, "PyCode_Type", &code_type) || l->n_ranges == 0) {
		return PYTHON_UNKNOWN;
	}
	l->state = bias + state.address;
	l->code_type = bias + code_type.address;
	return PYTHON_FOUND;
}

// ---- proof

struct memory {
	const struct wire_layout *layout;
	python_read read;
	void *user;
};

static bool load(const struct memory *m, uint64_t object, enum wire_python_field field,
		uint64_t *value) {
	return object % 8 == 0 &&
			m->read(m->user, object + m->layout->fields[field], value, sizeof *value);
}

/** The thread with one of these ids; 0: there is none. */
static uint64_t find_thread(const struct memory *m, uint64_t interpreter, const uint64_t *ids,
		size_t n_ids) {
	enum { THREADS_MOST = 1 << 14 };
	uint64_t thread, id;
	bool ok = load(m, interpreter, PYTHON_THREADS, &thread);
	for (unsigned i = 0; ok && thread && i < THREADS_MOST; i++) {
		ok = load(m, thread, PYTHON_THREAD_ID, &id);
		if (ok && ANY(k, n_ids, ids[k] == id)) {
			return thread;
		}
		ok = ok && load(m, thread, PYTHON_THREAD, &thread);
	}
	return 0;
}

/** A byte of a frame; 0 if it has no such. False: it may not be read. */
static bool load_flag(const struct memory *m, uint64_t frame, enum wire_python_field field,
		uint8_t *flag) {
	uint32_t offset = m->layout->fields[field];
	*flag = 0;
	return offset == WIRE_NO_FIELD || m->read(m->user, frame + offset, flag, 1);
}

/** Its frames end where C has called Python, and all others are of functions. */
static bool has_frames(const struct memory *m, uint64_t thread) {
	enum { FRAMES_MOST = 10000 };
	uint64_t frame, code, type;
	unsigned n_functions = 0;
	uint8_t owner = 0, is_entry = 0;
	bool ok = load(m, thread, PYTHON_TOP, &frame) &&
			(m->layout->fields[PYTHON_TOP_FRAME] == WIRE_NO_FIELD ||
					load(m, frame, PYTHON_TOP_FRAME, &frame));
	for (unsigned i = 0; ok && frame && i < FRAMES_MOST; i++) {
		ok = load(m, frame, PYTHON_CODE, &code) && load_flag(m, frame, PYTHON_OWNER, &owner) &&
				load_flag(m, frame, PYTHON_IS_ENTRY, &is_entry);
		if (ok && owner != PYTHON_OWNER_OF_C) {
			ok = m->read(m->user, (code & ~7ull) + 8, &type, sizeof type) &&
					type == m->layout->code_type;
			n_functions++;
		}
		ok = ok && load(m, frame, PYTHON_PREVIOUS, &frame);
	}
	return ok && !frame && n_functions > 0 && (is_entry || owner == PYTHON_OWNER_OF_C);
}

const char *python_prove(const struct wire_layout *layout, python_read read, void *user,
		const uint64_t *ids, size_t n_ids) {
	const struct memory m = {layout, read, user};
	char type[8] = "";
	uint64_t name, interpreter;
	enum { TYPE_NAME = 24 }; // of every version's type objects
	if (!read(user, layout->code_type + TYPE_NAME, &name, sizeof name) ||
			!read(user, name, type, sizeof type) || memcmp(type, "code", sizeof "code") != 0) {
		return "its type of code objects is not where it should be";
	}
	if (!load(&m, layout->state, PYTHON_HEAD, &interpreter) || !interpreter) {
		return "it has no interpreter yet";
	}
	uint64_t thread = find_thread(&m, interpreter, ids, n_ids);
	if (!thread) {
		return "none of its threads is found";
	}
	bool ok = has_frames(&m, thread);
	return ok ? NULL : "its frames make no sense";
}
