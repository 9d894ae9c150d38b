// SPDX-License-Identifier: MIT
/*
 * The type of a block, from its first words. An object has a reference count and its type; before
 * these, as the type's flags say, two words of the garbage collector and two for attributes. The
 * table of a dict is no object, but gives its size. A type is what has `type` for its type, or a
 * metaclass: a type whose instances are types.
 */
#include "runtimes/python.h"

enum {
	NAME = 24 / 8, // of a type; in every version
	FLAGS = 168 / 8,
	TYPE_WORDS,
	HAS_ATTRIBUTES = 3 << 3,
	IS_COLLECTED = 1 << 14,
	IS_METACLASS_SHIFT = 31,
	REFERENCES_MOST = 1 << 20, // addresses are larger; so are counts of immortal objects
	PAGE_BYTES = 4096,
	NO_TYPE = 7, // else words before an object, and its name << 3
};
#define FLAGS_OF_COUNT (7ull << 48) // in 3.14

static bool read_type(const struct python_types *t, uint64_t at, uint64_t out[TYPE_WORDS]) {
	return at % 8 == 0 && at >> 12 != 0 && at >> 47 == 0 &&
			t->memory.read(t->memory.user, at, out, TYPE_WORDS * sizeof *out);
}

static uint64_t meet_type(const struct python_types *t, uint64_t at) {
	uint64_t type[TYPE_WORDS], meta[TYPE_WORDS], type_type;
	char name[128];
	size_t n = sizeof name;
	bool is_type = t->memory.read(t->memory.user, t->layout->code_type + 8, &type_type,
						   sizeof type_type) &&
			read_type(t, at, type) &&
			(type[1] == type_type ||
					(read_type(t, type[1], meta) && meta[1] == type_type &&
							(meta[FLAGS] >> IS_METACLASS_SHIFT & 1)));
	if (is_type && !t->memory.read(t->memory.user, type[NAME], name, n)) {
		n = PAGE_BYTES - type[NAME] % PAGE_BYTES; // at the end of a mapping
		is_type = n < sizeof name && t->memory.read(t->memory.user, type[NAME], name, n);
	}
	uint64_t id = is_type ? texts_id(t->names, slice_of(name, strnlen(name, n))) : 0;
	uint64_t before = type[FLAGS] & IS_COLLECTED ? 2 : 0;
	before += type[FLAGS] & HAS_ATTRIBUTES ? 2 : 0;
	return id != 0 ? id << 3 | before : NO_TYPE;
}

/** A reference count; sizes, each a logarithm in a byte, and kind; room and entries left. */
static bool is_dict_table(const uint64_t words[PYTHON_HEAD_WORDS], uint64_t bytes) {
	enum { HEAD = 32, SIZE_LOG_MOST = 40, WITH_HASH = 24, WITHOUT = 16 };
	uint64_t size_log = words[1] & 0xff, index_log = words[1] >> 8 & 0xff;
	uint64_t number_log = size_log < 8 ? 0 : size_log < 16 ? 1 : size_log < 32 ? 2 : 3;
	uint64_t room = size_log < SIZE_LOG_MOST ? (2ull << size_log) / 3 : 0;
	return bytes > HEAD && index_log == size_log + number_log && words[2] <= room &&
			words[3] <= room &&
			bytes ==
			HEAD + (1ull << index_log) + room * (words[1] >> 16 & 0xff ? WITHOUT : WITH_HASH);
}

uint32_t python_type_of(struct python_types *t, const uint64_t words[PYTHON_HEAD_WORDS],
		uint64_t bytes) {
	for (unsigned before = 0; before < 5 && (before + 2) * 8 <= bytes; before += 2) {
		uint64_t count = words[before], type = words[before + 1], number = count & ~FLAGS_OF_COUNT;
		bool may_be = (number > 0 && number < REFERENCES_MOST) || number >> 31 == 1;
		uint64_t known = may_be ? map_get(&t->known, type) : NO_TYPE;
		bool is_new = known == 0 && t->layout != NULL;
		known = is_new ? meet_type(t, type) : known;
		(void)(is_new && map_put(&t->known, type, known));
		if (known > NO_TYPE && (known & 7) == before) {
			return (uint32_t)(known >> 3);
		}
	}
	return t->layout && is_dict_table(words, bytes) ? texts_id_of(t->names, "table of dict") : 0;
}
