// SPDX-License-Identifier: MIT
/* The layouts of CPython's versions, and how to find one in a file. */
#include "runtimes/python.h"

#define NONE WIRE_NO_FIELD
static const uint16_t versions[] = {0x030b, 0x030c, 0x030d, 0x030e};
static const uint32_t offsets[][N_OF(versions)] = {
#define F(name, ...) {__VA_ARGS__},
#include "wire/python.def"
};

static bool find_symbol(const struct elf_image *e, const char *name, struct elf_symbol *out) {
	struct elf_symbols s = elf_symbols_all(e);
	return elf_symbols_find(&s, name, out);
}

/** The interpreter's loop, and what the compiler moved out of it, with or without a symbol. */
static void find_ranges(const struct elf_image *e, uint64_t bias, struct wire_layout *l) {
	struct elf_symbols s = elf_symbols_all(e);
	struct elf_symbol symbol;
	while (l->n_ranges < WIRE_N_RANGES && elf_symbols_next(&s, &symbol)) {
		struct slice name = slice_of_text(symbol.name);
		uint64_t start = bias + symbol.address;
		bool is_new = l->n_ranges == 0 || l->ranges[0].start != start;
		if (is_new && is_called_after(name, "_PyEval_EvalFrameDefault") && symbol.section != 0 &&
				symbol.size > 0) {
			l->ranges[l->n_ranges++] = (struct wire_code_range){start, start + symbol.size};
		}
	}
	struct elf_code part;
	if (l->n_ranges == 1 && elf_other_part(e, NULL, l->ranges[0].start - bias, &part)) {
		uint64_t start = bias + part.address;
		l->ranges[l->n_ranges++] = (struct wire_code_range){start, start + part.bytes.size};
	}
}

bool python_layout_of(uint16_t version, struct wire_layout *l) {
	const uint16_t *row = FIND(v, versions, N_OF(versions), *v == version);
	*l = (struct wire_layout){.kind = MODULE_PYTHON, .version = version};
	for (unsigned i = 0; row && i < N_PYTHON_OFFSETS; i++) {
		l->fields[i] = offsets[i][row - versions];
	}
	return row != NULL;
}

bool python_find(const struct elf_image *e, uint64_t bias, struct wire_layout *l) {
	struct elf_symbol state, version, code_type;
	uint64_t hex = 0;
	if (!find_symbol(e, "_PyRuntime", &state)) {
		return false;
	}
	if (find_symbol(e, "Py_Version", &version)) {
		struct slice bytes = elf_bytes_from(e, version.address, NULL);
		memcpy(&hex, bytes.data, bytes.size < sizeof hex ? 0 : sizeof hex);
	}
	if (python_layout_of((uint16_t)(hex >> 16), l) && find_symbol(e, "PyCode_Type", &code_type)) {
		find_ranges(e, bias, l);
		l->state = bias + state.address;
		l->fields[PYTHON_STATE_BYTES] = (uint32_t)state.size;
		l->code_type = bias + code_type.address;
	}
	return true;
}

// ---- proof

struct proof {
	const struct wire_layout *layout;
	const struct program_memory *memory;
};

static bool read_at(const struct proof *p, uint64_t address, void *out, size_t bytes) {
	return p->memory->read(p->memory->user, address, out, bytes);
}

static bool load(const struct proof *p, uint64_t object, enum wire_python_field field,
		uint64_t *value) {
	return object % 8 == 0 && read_at(p, object + p->layout->fields[field], value, sizeof *value);
}

/** Its frames end where C called Python, and all others are of functions. */
static bool has_frames(const struct proof *p, uint64_t thread, bool *is_idle) {
	enum { FRAMES_MOST = 10000 };
	const uint32_t *fields = p->layout->fields;
	uint64_t frame, code, type;
	unsigned n_functions = 0;
	uint8_t mark = 0;
	bool ok = load(p, thread, PYTHON_TOP, &frame) &&
			(fields[PYTHON_TOP_FRAME] == WIRE_NO_FIELD || load(p, frame, PYTHON_TOP_FRAME, &frame));
	*is_idle = ok && frame == 0;
	for (unsigned i = 0; ok && frame && i < FRAMES_MOST; i++) {
		ok = load(p, frame, PYTHON_CODE, &code) &&
				read_at(p, frame + fields[PYTHON_MARK], &mark, 1);
		if (ok && mark != PYTHON_OWNER_OF_C) {
			ok = read_at(p, (code & ~7ull) + 8, &type, sizeof type) && type == p->layout->code_type;
			n_functions++;
		}
		ok = ok && load(p, frame, PYTHON_PREVIOUS, &frame);
	}
	return ok && !frame && n_functions > 0 && mark == fields[PYTHON_MARK_OF_END];
}

/** True if any interpreter has one. `*is_idle`: there are threads, and none runs a function. */
static bool has_thread_with_frames(const struct proof *p, uint64_t interpreter, bool *is_idle) {
	enum { MOST = 1 << 14 };
	uint64_t thread, id, self;
	bool is_idle_too, is_first = true;
	bool ok = load(p, interpreter, PYTHON_THREADS, &thread);
	for (unsigned i = 0; ok && i < MOST; i++) {
		// A thread's id is where its thread-local data are, which begin with their own address
		if (thread && load(p, thread, PYTHON_THREAD_ID, &id) &&
				read_at(p, id, &self, sizeof self) && self == id) {
			if (has_frames(p, thread, &is_idle_too)) {
				return true;
			}
			*is_idle = is_idle_too && (is_first || *is_idle);
			is_first = false;
		}
		ok = thread ? load(p, thread, PYTHON_THREAD, &thread)
					: load(p, interpreter, PYTHON_INTERPRETER, &interpreter) && interpreter &&
						load(p, interpreter, PYTHON_THREADS, &thread);
	}
	return false;
}

const char python_idle[] = "none of its functions runs";

const char *python_prove(const struct wire_layout *layout, const struct program_memory *memory) {
	const struct proof p = {layout, memory};
	char type[8] = "";
	uint64_t name, interpreter;
	enum { TYPE_NAME = 24 }; // in every version
	if (!read_at(&p, layout->code_type + TYPE_NAME, &name, sizeof name) ||
			!read_at(&p, name, type, sizeof type) || memcmp(type, "code", sizeof "code") != 0) {
		return "its type of code objects is not where it should be";
	}
	if (!load(&p, layout->state, PYTHON_HEAD, &interpreter) || !interpreter) {
		return python_idle;
	}
	bool is_idle = false;
	return has_thread_with_frames(&p, interpreter, &is_idle) ? NULL
			: is_idle                                        ? python_idle
															 : "no thread is found with its frames";
}
