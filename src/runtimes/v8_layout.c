// SPDX-License-Identifier: MIT
/*
 * The layout of a build of V8. Symbols win over constants; of these the newest not newer than the
 * build. A newer version is refused only if something contradicts: the proof is in the program.
 */
#include "runtimes/v8_parts.h"
#include "v8_machine.h"

enum how { SLOT = -4, WORD, SOME, MAYBE };

static const struct {
	const char *name, *symbol;
	size_t offset;
	int how;
} fields[] = {
#define FIELD(name, symbol, how) {#name, symbol, offsetof(struct v8_layout, name), how},
#include "runtimes/v8_layout.def"
};

static const struct {
	int32_t version; // ascending
	size_t offset;
	int32_t value;
} constants[] = {
#define SINCE(major, minor, name, value) \
	{major << 8 | minor, offsetof(struct v8_layout, name), value},
#include "runtimes/v8_layout.def"
};

enum place {
#define PLACE(name, symbol) name,
#include "runtimes/v8_layout.def"
	N_PLACES
};

static const char *const places[] = {
#define PLACE(name, symbol) symbol,
#include "runtimes/v8_layout.def"
};

enum { N_FIELDS = N_OF(fields), N_CONSTANTS = N_OF(constants) };

static int32_t *field_at(struct v8_layout *l, size_t offset) {
	return (int32_t *)((char *)l + offset);
}

/** Always false, with an error that says what cannot be used. */
static bool refuse(const struct v8_layout *l, struct err *err, const char *what, const char *how) {
	return err_unsupported(err, "V8 %d.%d: %s %s", l->major, l->minor, what, how);
}

// ---- from symbols

/** Symbols of classes and types end in what differs between versions. */
static bool is_symbol_of(const char *name, const char *wanted) {
	return strncmp(wanted, "class_", 6) == 0 || strncmp(wanted, "type_", 5) == 0
			? strncmp(name, wanted, strlen(wanted)) == 0
			: strcmp(name, wanted) == 0;
}

void v8_symbols_add(struct v8_layout *told, const char *symbol, int32_t value) {
	static const char *const prefixes[] = {"v8dbg_", "_ZN2v88internal7"};
	const char *const *prefix = FIND(p, prefixes, 2, strncmp(symbol, *p, strlen(*p)) == 0);
	const char *name = prefix ? symbol + strlen(*prefix) : "";
	EACH_NUMBER(i, N_FIELDS, fields[i].symbol && is_symbol_of(name, fields[i].symbol)) {
		int32_t *field = field_at(told, fields[i].offset);
		told->contradicted = *field != 0 && *field != value ? fields[i].symbol : told->contradicted;
		*field = value;
	}
}

/** Constants for what the build does not say, in the order of versions. */
static void add_constants(struct v8_layout *l) {
	struct v8_layout told = *l;
	for (size_t i = 0; i < N_CONSTANTS && constants[i].version <= (l->major << 8 | l->minor); i++) {
		l->of_major = constants[i].version >> 8;
		l->of_minor = constants[i].version & 0xff;
		if (*field_at(&told, constants[i].offset) == 0) {
			*field_at(l, constants[i].offset) = constants[i].value;
		}
	}
}

static bool is_possible(int how, int32_t value) {
	uint32_t n = how == SLOT ? 0 - (uint32_t)value : (uint32_t)value;
	return how >= 0
			? value == how
			: how == MAYBE || (n > 0 && n < 1 << 14 && (how == SOME || n % sizeof(uint64_t) == 0));
}

bool v8_symbols_layout(const struct v8_layout *told, struct v8_layout *out, struct err *err) {
	struct v8_layout l = *told;
	if (l.contradicted) {
		return refuse(&l, err, l.contradicted, "contradicts itself");
	}
	add_constants(&l);
	if (l.of_major == 0) {
		return refuse(&l, err, "it", "is older than 10.2");
	}
	for (unsigned i = 0; i < N_FIELDS; i++) {
		int32_t value = *field_at(&l, fields[i].offset);
		if (!is_possible(fields[i].how, value)) {
			return refuse(&l, err, fields[i].name, value == 0 ? "is not known" : "is impossible");
		}
	}
	if (l.code_instructions <= 0 && l.code_start <= 0) {
		return refuse(&l, err, "code_start", "is not known");
	}
	l.code_start = l.code_instructions > 0 ? 0 : l.code_start;
	*out = l;
	return true;
}

// ---- from an image

static uint64_t number_at(const struct elf_image *e, uint64_t address, size_t bytes) {
	uint64_t value = 0;
	struct slice s = elf_bytes_from(e, address, NULL);
	if (s.size >= bytes) { // else it begins as zero
		memcpy(&value, s.data, bytes);
	}
	return value;
}

struct tables {
	struct v8_layout told;
	struct elf_symbol at[N_PLACES]; // address 0: none
};

/** Is it a number, a table, or a few instructions? Of all else not even the name is read. */
static bool may_be_wanted(const struct elf_symbol *s) {
	enum { FUNCTION_MOST = 16, NUMBER = sizeof(int32_t), TABLE_LEAST = 64 };
	return s->section != 0 &&
			(s->type == STT_FUNC ? s->size <= FUNCTION_MOST
								 : s->size == 0 || s->size == NUMBER || s->size >= TABLE_LEAST);
}

static void read_symbol(struct tables *t, const struct elf_image *e, const struct elf_symbol *s) {
	if (!may_be_wanted(s) || (s->name[0] != 'v' && (s->name[0] != '_' || s->name[1] != 'Z'))) {
		return;
	}
	EACH_NUMBER(i, N_PLACES, strcmp(s->name, places[i]) == 0) {
		t->at[i] = *s;
	}
	if (strncmp(s->name, "v8dbg_", 6) == 0 ||
			strncmp(s->name, "_ZN2v88internal7Version", 23) == 0) {
		v8_symbols_add(&t->told, s->name, (int32_t)number_at(e, s->address, 4));
	}
}

static bool read_tables(const struct tables *t, const struct elf_image *e, struct v8_layout *l,
		struct err *err) {
	struct slice sizes = elf_bytes_from(e, t->at[BYTECODES].address, NULL);
	size_t n = (size_t)t->at[BYTECODES].size / 3, n_opcodes = (size_t)t->at[OPCODES].size / 4;
	if (n == 0 || n > 256 || sizes.size < 3 * n) {
		return refuse(l, err, "the sizes of its bytecodes", "are not known");
	}
	l->n_bytecodes = (uint32_t)n;
	for (size_t i = 0; i < 3; i++) {
		memcpy(l->bytecode_bytes[i], sizes.data + i * n, n);
	}
	l->n_opcodes = n_opcodes <= sizeof l->operands ? (uint32_t)n_opcodes : 0;
	for (size_t i = 0; i < l->n_opcodes; i++) {
		l->operands[i] = (uint8_t)number_at(e, t->at[OPCODES].address + 4 * i, 1);
	}
	return true;
}

static bool find_builtins(const struct tables *t, const struct elf_image *e, struct v8_layout *l,
		struct err *err) {
	uint64_t size, code;
	bool is_loaded, is_pointer;
	if (!elf_returned(e, t->at[SIZE].address, &size, &is_loaded) || !is_loaded ||
			!elf_returned(e, t->at[CODE].address, &code, &is_pointer)) {
		return refuse(l, err, "its builtins", "are not found");
	}
	l->builtins = is_pointer ? 0 : code;
	l->builtins_pointer = is_pointer ? code : 0;
	l->builtins_bytes = number_at(e, size, 4);
	return true;
}

bool v8_layout_of_image(const struct elf_image *e, struct v8_layout *out, struct err *err) {
	// Exported symbols suffice for most builds, and are in memory already, as they were linked
	static const uint32_t kinds[] = {SHT_DYNSYM, SHT_SYMTAB};
	struct tables t = {0};
	bool ok = false;
	for (size_t i = 0; i < 2 && !ok; i++) {
		struct elf_symbols all = elf_symbols_of(e, kinds[i]);
		for (struct elf_symbol s; elf_symbols_next(&all, &s);) {
			read_symbol(&t, e, &s);
		}
		ok = t.told.major != 0 && v8_symbols_layout(&t.told, out, err) &&
				read_tables(&t, e, out, err) && find_builtins(&t, e, out, err);
	}
	return t.told.major != 0
			? ok
			: err_not_found(err, "there is no V8 in it, or it does not tell its version");
}

// ---- in a program

/**
 * Where the interpreter goes on after a call: the only address that a frame of bytecode can have.
 * There it takes bytecode array and offset from the frame. A second one is for profiling.
 */
static bool find_interpreter(const struct elf_image *e, uint64_t builtins, struct v8_layout *l) {
	static const char code[] = V8_CALL V8_GOES_ON;
	struct slice in = elf_bytes_from(e, builtins, NULL);
	size_t n = 0, left = in.size < l->builtins_bytes ? in.size : (size_t)l->builtins_bytes;
	const uint8_t *at = in.data, *end = at + left;
	for (; (at = memmem(at, (size_t)(end - at), code, sizeof code - 1)) != NULL; n++) {
		at += sizeof V8_CALL - 1;
		if (n < 2) {
			l->interpreter[n] = builtins + (uint64_t)(at - in.data);
		}
	}
	return n == 1 || n == 2;
}

bool v8_layout_place(struct v8_layout *l, const struct elf_image *e, uint64_t bias,
		const struct program_memory *memory, struct wire_layout *out, struct err *err) {
	const int32_t of_wire[N_V8_FIELDS] = {
#define F(name, value) value,
#include "wire/v8.def"
	};
	l->builtins += bias;
	if ((l->builtins_pointer != 0 &&
				!memory->read(memory->user, l->builtins_pointer + bias, &l->builtins,
						sizeof l->builtins)) ||
			!find_interpreter(e, l->builtins - bias, l)) {
		return refuse(l, err, "its interpreter", "is not found");
	}
	*out = (struct wire_layout){.kind = MODULE_V8,
			.version = (uint16_t)(l->major << 8 | l->minor),
			.n_ranges = 1,
			.ranges = {{l->builtins, l->builtins + l->builtins_bytes}}};
	for (unsigned i = 0; i < 2; i++) {
		out->returns[i] = l->interpreter[i] ? l->interpreter[i] + bias : 0;
	}
	memcpy(out->fields, of_wire, sizeof of_wire);
	return true;
}
