// SPDX-License-Identifier: MIT
/*
 * The layout of a build of V8. Symbols win over constants; of the constants the newest that is not
 * newer than the build. What a newer version may have moved is refused only if it contradicts: the
 * proof is in the program.
 */
#include "runtimes/v8_layout.h"

#include <elf.h>

enum how { SLOT, WORD, SOME, MAYBE };

#define FIELD(name, symbol, how) {#name, symbol, offsetof(struct v8_layout, name), how},
#define SINCE(...)
static const struct {
	const char *name, *symbol;
	size_t offset;
	enum how how;
} fields[] = {
#include "runtimes/v8_layout.def"
};
#undef FIELD
#undef SINCE

#define FIELD(...)
#define SINCE(major, minor, name, value) {major, minor, offsetof(struct v8_layout, name), value},
static const struct {
	int32_t major, minor;
	size_t offset;
	int32_t value;
} constants[] = {
#include "runtimes/v8_layout.def"
};
#undef FIELD
#undef SINCE

enum {
	N_FIELDS = sizeof fields / sizeof *fields,
	N_CONSTANTS = sizeof constants / sizeof *constants
};

static int32_t *field_at(struct v8_layout *l, size_t offset) {
	return (int32_t *)((char *)l + offset);
}

int32_t *v8_layout_field(struct v8_layout *l, unsigned index, const char **name) {
	*name = index < N_FIELDS ? fields[index].name : NULL;
	return index < N_FIELDS ? field_at(l, fields[index].offset) : NULL;
}

// ---- from symbols

/** Classes and types go on with what differs between versions. */
static bool is_symbol_of(const char *name, const char *wanted) {
	if (strncmp(wanted, "class_", 6) == 0 || strncmp(wanted, "type_", 5) == 0) {
		return strncmp(name, wanted, strlen(wanted)) == 0;
	}
	return strcmp(name, wanted) == 0;
}

bool v8_symbols_add(struct v8_symbols *s, const char *symbol, int32_t value) {
	static const char *const prefixes[] = {"v8dbg_", "_ZN2v88internal7"};
	const char *const *prefix = FIND(p, prefixes, 2, strncmp(symbol, *p, strlen(*p)) == 0);
	const char *name = prefix ? symbol + strlen(*prefix) : "";
	bool is_used = false;
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (!fields[i].symbol || !is_symbol_of(name, fields[i].symbol)) {
			continue;
		}
		int32_t *field = field_at(&s->layout, fields[i].offset);
		if (s->is_known[i] && *field != value) {
			s->contradicted = fields[i].symbol;
		}
		*field = value;
		s->is_known[i] = is_used = true;
	}
	return is_used;
}

static bool is_before(int32_t major, int32_t minor, const struct v8_layout *l) {
	return major < l->major || (major == l->major && minor <= l->minor);
}

/** Constants for what the build does not tell, in the order of versions. */
static void add_constants(const struct v8_symbols *s, struct v8_layout *l) {
	for (size_t i = 0; i < N_CONSTANTS; i++) {
		if (!is_before(constants[i].major, constants[i].minor, l)) {
			continue;
		}
		l->of_major = constants[i].major;
		l->of_minor = constants[i].minor;
		bool is_told = ANY(f, (size_t)N_FIELDS,
				fields[f].offset == constants[i].offset && s->is_known[f]);
		if (!is_told) {
			*field_at(l, constants[i].offset) = constants[i].value;
		}
	}
}

// ---- what cannot be

static bool check_words(const struct v8_layout *l, struct err *err) {
	if (l->tagged_size != 8 || l->smi_shift_size != 31) {
		return err_set(err, ERR_UNSUPPORTED, "V8 %d.%d compresses pointers (words of %d bytes)",
				l->major, l->minor, l->tagged_size);
	}
	if (l->heap_object_tag != 1 || l->heap_object_tag_mask != 3 || l->smi_tag_mask != 1) {
		return err_set(err, ERR_UNSUPPORTED, "V8 %d.%d tags pointers in an unknown way", l->major,
				l->minor);
	}
	return true;
}

static bool is_possible(enum how how, int32_t value) {
	uint32_t n = how == SLOT ? 0 - (uint32_t)value : (uint32_t)value;
	return how == MAYBE || (n > 0 && n < 1 << 14 && (how == SOME || n % sizeof(uint64_t) == 0));
}

static bool check_fields(struct v8_layout *l, struct err *err) {
	const char *name;
	const int32_t *value;
	for (unsigned i = 0; (value = v8_layout_field(l, i, &name)) != NULL; i++) {
		if (!is_possible(fields[i].how, *value)) {
			return err_set(err, ERR_UNSUPPORTED, "V8 %d.%d: %s is %s", l->major, l->minor, name,
					*value == 0 ? "not known" : "impossible");
		}
	}
	if (l->code_instructions <= 0 && l->code_start <= 0) {
		return err_set(err, ERR_UNSUPPORTED, "V8 %d.%d: code_start is not known", l->major,
				l->minor);
	}
	return true;
}

bool v8_symbols_layout(const struct v8_symbols *s, struct v8_layout *out, struct err *err) {
	struct v8_layout l = s->layout;
	if (l.major == 0) {
		return err_set(err, ERR_UNSUPPORTED, "V8 does not tell its version");
	}
	if (s->contradicted) {
		return err_set(err, ERR_UNSUPPORTED,
				"V8 %d.%d: its data for debuggers contradict each other"
				" (%s)",
				l.major, l.minor, s->contradicted);
	}
	add_constants(s, &l);
	if (l.of_major == 0) {
		return err_set(err, ERR_UNSUPPORTED, "V8 %d.%d is older than 10.2", l.major, l.minor);
	}
	if (l.type_first_function == 0) {
		// 17 types: one for each kind of constructor that is built in
		l.type_first_function = l.type_function;
		l.type_last_function = l.type_function + 16;
	}
	if (l.code_instructions > 0) {
		l.code_start = 0;
	}
	if (!check_words(&l, err) || !check_fields(&l, err)) {
		return false;
	}
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

/** mov rax, [rip + x], and lea rax, [rip + x]; mov rax, [rax]: the address of what they load. */
static uint64_t loaded_from(const struct elf_image *e, uint64_t function) {
	struct slice s = elf_bytes_from(e, function, NULL);
	size_t at = s.size > 16 && (s.data[0] & 0xf8) == 0x48 ? 1 : 0;
	if (e->machine != elf_machine || s.size <= 16 || s.data[at + 1] != 0x05 ||
			(s.data[at] != 0x8b && s.data[at] != 0x8d)) {
		return 0;
	}
	int32_t displacement;
	memcpy(&displacement, s.data + at + 2, sizeof displacement);
	return function + at + 6 + (uint64_t)(int64_t)displacement;
}

struct tables {
	struct v8_symbols symbols;
	uint64_t code, code_data, size, code_function, size_function;
	struct elf_symbol bytecodes, opcodes;
};

static void read_symbol(struct tables *t, const struct elf_image *e, const struct elf_symbol *s) {
	if (s->name[0] != 'v' && (s->name[0] != '_' || s->name[1] != 'Z')) {
		return;
	}
	const struct {
		const char *name;
		uint64_t *address;
	} places[] = {
			{"v8_Default_embedded_blob_code_", &t->code},
			{"v8_Default_embedded_blob_code_data_", &t->code_data},
			{"v8_Default_embedded_blob_code_size_", &t->size},
			{"_ZN2v88internal23DefaultEmbeddedBlobCodeEv", &t->code_function},
			{"_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv", &t->size_function},
	};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (strcmp(s->name, places[i].name) == 0) {
			*places[i].address = s->address;
		}
	}
	if (strcmp(s->name, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE") == 0) {
		t->bytecodes = *s;
	} else if (strcmp(s->name,
					   "_ZZN2v88internal29TranslationOpcodeOperandCountENS0_"
					   "17TranslationOpcodeEE6counts") == 0) {
		t->opcodes = *s;
	} else if (strncmp(s->name, "v8dbg_", 6) == 0 ||
			strncmp(s->name, "_ZN2v88internal7Version", 23) == 0) {
		(void)v8_symbols_add(&t->symbols, s->name, (int32_t)number_at(e, s->address, 4));
	}
}

static bool read_tables(const struct tables *t, const struct elf_image *e, struct v8_layout *l,
		struct err *err) {
	struct slice sizes = elf_bytes_from(e, t->bytecodes.address, NULL);
	size_t n = (size_t)t->bytecodes.size / 3;
	if (n == 0 || n > 256 || sizes.size < 3 * n) {
		return err_set(err, ERR_UNSUPPORTED, "V8 %d.%d: the sizes of its bytecodes are not known",
				l->major, l->minor);
	}
	l->n_bytecodes = (uint32_t)n;
	for (size_t i = 0; i < 3; i++) {
		memcpy(l->bytecode_bytes[i], sizes.data + i * n, n);
	}
	size_t n_opcodes = (size_t)t->opcodes.size / 4;
	if (n_opcodes <= sizeof l->operands) {
		l->n_opcodes = (uint32_t)n_opcodes;
		for (size_t i = 0; i < n_opcodes; i++) {
			l->operands[i] = (uint8_t)number_at(e, t->opcodes.address + 4 * i, 1);
		}
	}
	return true;
}

static bool find_builtins(const struct tables *t, const struct elf_image *e, struct v8_layout *l,
		struct err *err) {
	uint64_t size = t->size ?: loaded_from(e, t->size_function);
	l->builtins = t->code_data ?: t->code;
	l->builtins_bytes = number_at(e, size, 4);
	l->builtins_pointer = l->builtins ? 0 : loaded_from(e, t->code_function);
	if (size == 0 || l->builtins_bytes == 0 || (!l->builtins && !l->builtins_pointer)) {
		return err_set(err, ERR_UNSUPPORTED, "V8 %d.%d: its builtins are not found", l->major,
				l->minor);
	}
	return true;
}

/**
 * Where the interpreter goes on after what it called: the only address that a frame of bytecode can
 * have. There it takes bytecode array and offset from the frame. A second one is for profiling.
 */
static bool find_interpreter(const struct elf_image *e, struct v8_layout *l, struct err *err) {
	// call *%rcx; mov -0x20(%rbp),%r12; mov -0x24(%rbp),%r9d
	static const uint8_t code[] = {0xff, 0xd1, 0x4c, 0x8b, 0x65, 0xe0, 0x44, 0x8b, 0x4d, 0xdc};
	size_t n = 0;
	struct elf_segment s;
	for (uint32_t i = 0; elf_segment_at(e, i, &s); i++) {
		struct slice in = elf_segment_bytes(e, &s);
		uint64_t start = s.address;
		if (l->builtins - s.address < in.size) { // elsewhere are copies in constant data
			start = l->builtins;
			in = slice_of(in.data + (start - s.address), in.size - (size_t)(start - s.address));
			in.size = in.size < l->builtins_bytes ? in.size : (size_t)l->builtins_bytes;
		} else if (l->builtins) {
			continue;
		}
		if (s.type != PT_LOAD || !(s.flags & PF_X) || in.size < sizeof code) {
			continue;
		}
		const uint8_t *at = in.data, *end = in.data + in.size;
		for (; (at = memmem(at, (size_t)(end - at), code, sizeof code)) != NULL; at += 2, n++) {
			if (n < 2) {
				l->interpreter[n] = start + (uint64_t)(at + 2 - in.data);
			}
		}
	}
	return (n == 1 || n == 2) ||
			err_set(err, ERR_UNSUPPORTED, "V8 %d.%d: its interpreter is not found", l->major,
					l->minor);
}

bool v8_layout_of_image(const struct elf_image *e, struct v8_layout *out, struct err *err) {
	struct tables t = {0};
	struct elf_symbols all = elf_symbols_all(e);
	for (struct elf_symbol s; elf_symbols_next(&all, &s);) {
		if (s.section != 0) {
			read_symbol(&t, e, &s);
		}
	}
	if (t.symbols.layout.major == 0) {
		return err_set(err, ERR_NOT_FOUND, "there is no V8 in it, or it does not tell its version");
	}
	return v8_symbols_layout(&t.symbols, out, err) && read_tables(&t, e, out, err) &&
			find_builtins(&t, e, out, err) && find_interpreter(e, out, err);
}
