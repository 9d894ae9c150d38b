// SPDX-License-Identifier: MIT
/*
 * Finds the other half of a split unit, and makes it readable for elfutils. elfutils finds a .dwo
 * only where the compiler wrote it, and no .dwp. So we find the unit, put its sections and the
 * program's address table into an image of its own (compose.h), and read that. Two kinds of data
 * refer to the program's file in ways that elfutils then cannot follow, and are read here: strings
 * (kept out of the image, since a package has all of them in one section) and range lists, whose
 * base is the skeleton's.
 */
#include "symbols/dwarf/unit.h"

static const char *const part_names[SPLIT_N_PARTS] = {
		[SPLIT_INFO] = ".debug_info.dwo",
		[SPLIT_ABBREV] = ".debug_abbrev.dwo",
		[SPLIT_STR_OFFSETS] = ".debug_str_offsets.dwo",
		[SPLIT_RNGLISTS] = ".debug_rnglists.dwo",
};

static struct slice from(struct slice s, uint64_t offset) {
	return offset < s.size ? slice_of(s.data + offset, s.size - offset) : (struct slice){0};
}

static struct slice part_of(struct slice s, uint64_t offset, uint64_t size) {
	struct slice rest = from(s, offset);
	rest.size = size < rest.size ? size : rest.size;
	return rest;
}

static void read_parts(struct slice parts[static SPLIT_N_PARTS], const struct elf_image *image,
		struct arena *arena) {
	EACH_NUMBER(i, SPLIT_N_PARTS, part_names[i]) {
		parts[i] = compose_section_bytes(image, part_names[i], arena);
	}
}

static void make_ready(struct split_source *s) {
	const struct elf_image *program = &s->program->elf;
	s->is_ready = true;
	s->addresses = compose_section_bytes(program, ".debug_addr", &s->arena);
	s->ranges = compose_section_bytes(program, ".debug_ranges", &s->arena);
	if (module_files_open_package(&s->package, s->files, s->options, s->module_path)) {
		const struct elf_image *package = &s->package.elf;
		read_parts(s->parts, package, &s->arena);
		s->index = compose_section_bytes(package, ".debug_cu_index", &s->arena);
		s->strings = compose_section_bytes(package, ".debug_str.dwo", &s->arena);
	}
}

void split_source_finish(struct split_source *s) {
	mapped_file_close(&s->package);
	arena_finish(&s->arena);
}

#define NO_ENTRY UINT64_MAX

static uint64_t entry_at(struct slice table, uint64_t index, unsigned n) {
	struct slice entry = index < SIZE_MAX / 8 ? part_of(table, index * n, n) : (struct slice){0};
	return entry.size == n ? little_endian(entry) : NO_ENTRY;
}

/** A unit's row in a package's index, from 1; 0: none. */
static uint32_t index_row(struct slice slots, struct slice rows, uint32_t n_slots, uint64_t id) {
	uint64_t mask = n_slots - 1, step = (id >> 32 & mask) | 1, i = id & mask;
	for (uint32_t tries = 0; tries < n_slots; tries++, i = (i + step) & mask) {
		uint64_t at_slot = entry_at(slots, i, 8), row = entry_at(rows, i, 4);
		if (at_slot == id && row) {
			return (uint32_t)row;
		}
		if (!at_slot && !row) {
			return 0;
		}
	}
	return 0;
}

static bool package_parts(const struct split_source *s, uint64_t id,
		struct slice parts[static SPLIT_N_PARTS]) {
	struct cursor c = cursor_init(s->index);
	(void)cursor_u32(&c); // version; the columns needed are the same in all
	uint32_t n_columns = cursor_u32(&c), n_units = cursor_u32(&c), n_slots = cursor_u32(&c);
	struct slice slots = cursor_bytes(&c, (size_t)n_slots * 8);
	struct slice rows = cursor_bytes(&c, (size_t)n_slots * 4);
	struct slice columns = cursor_bytes(&c, (size_t)n_columns * 4);
	struct slice offsets = cursor_bytes(&c, (size_t)n_units * n_columns * 4);
	struct slice sizes = cursor_bytes(&c, (size_t)n_units * n_columns * 4);
	if (c.failed || n_slots == 0 || (n_slots & (n_slots - 1))) {
		return false;
	}
	uint32_t row = index_row(slots, rows, n_slots, id);
	if (row == 0 || row > n_units) {
		return false;
	}
	for (uint32_t i = 0; i < n_columns; i++) {
		const uint64_t kind = entry_at(columns, i, 4), at = (row - 1ull) * n_columns + i;
		if (kind < SPLIT_N_PARTS && part_names[kind]) {
			parts[kind] = part_of(s->parts[kind], entry_at(offsets, at, 4), entry_at(sizes, at, 4));
		}
	}
	return parts[SPLIT_INFO].size > 0;
}

static bool file_parts(struct split *s, struct split_source *source, Dwarf_Die *skeleton,
		struct slice parts[static SPLIT_N_PARTS]) {
	Dwarf_Attribute name, folder;
	const char *name_text = dwarf_attr(skeleton, DW_AT_dwo_name, &name) ||
					dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &name)
			? dwarf_formstring(&name)
			: NULL;
	const char *folder_text = dwarf_attr(skeleton, DW_AT_comp_dir, &folder)
			? dwarf_formstring(&folder)
			: NULL;
	if (!name_text ||
			!module_files_open_split(&s->file, source->options, source->module_path,
					folder_text ? folder_text : ".", name_text)) {
		return false;
	}
	read_parts(parts, &s->file.elf, &s->arena);
	s->strings = compose_section_bytes(&s->file.elf, ".debug_str.dwo", &s->arena);
	return parts[SPLIT_INFO].size > 0;
}

/** Find the unit with this id in the image. */
static bool find_root(struct split *s, uint64_t id) {
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	Dwarf_Half version;
	while (dwarf_get_units(s->handle, cu, &cu, &version, &type, &die, NULL) == 0) {
		uint64_t found = 0;
		if (dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &found, NULL, NULL) == 0 && found == id &&
				type != DW_UT_type && type != DW_UT_split_type) {
			s->root = die;
			s->version = version;
			return true;
		}
	}
	return false;
}

static uint64_t offset_of(Dwarf_Die *die, unsigned name, unsigned gnu_name) {
	Dwarf_Attribute attribute;
	Dwarf_Word offset;
	return (dwarf_attr(die, name, &attribute) || dwarf_attr(die, gnu_name, &attribute)) &&
					dwarf_formudata(&attribute, &offset) == 0
			? offset
			: 0;
}

static bool read_unit(struct split *s, const struct slice parts[static SPLIT_N_PARTS],
		uint64_t id) {
	const struct compose_section sections[] = {
			compose_plain(part_names[SPLIT_INFO], parts[SPLIT_INFO]),
			compose_plain(part_names[SPLIT_ABBREV], parts[SPLIT_ABBREV]),
			compose_plain(".debug_addr.dwo", s->addresses),
	};
	struct slice image = compose_image(sections, N_OF(sections), &s->arena);
	s->elf = image.size ? elf_memory((char *)image.data, image.size) : NULL;
	s->handle = s->elf ? dwarf_begin_elf(s->elf, DWARF_C_READ, NULL) : NULL;
	if (!s->handle || !find_root(s, id)) {
		return false;
	}
	s->string_offsets = from(parts[SPLIT_STR_OFFSETS], s->version >= 5 ? 8 : 0);
	s->ranges = s->version >= 5 ? parts[SPLIT_RNGLISTS] : s->ranges;
	return true;
}

struct slice split_addresses(struct split_source *source, Dwarf_Die *skeleton) {
	if (!source->is_ready) {
		make_ready(source);
	}
	return from(source->addresses, offset_of(skeleton, DW_AT_addr_base, DW_AT_GNU_addr_base));
}

bool split_open(struct split *s, struct split_source *source, Dwarf_Die *skeleton) {
	*s = (struct split){.arena.may_lack = true};
	uint64_t id = 0;
	uint8_t type;
	if (dwarf_cu_info(skeleton->cu, NULL, &type, NULL, NULL, &id, NULL, NULL) != 0 ||
			type != DW_UT_skeleton) {
		return false;
	}
	(void)dwarf_lowpc(skeleton, &s->base);
	s->addresses = split_addresses(source, skeleton);
	s->ranges = from(source->ranges,
			offset_of(skeleton, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base));
	struct slice parts[SPLIT_N_PARTS] = {0};
	bool is_packed = package_parts(source, id, parts);
	s->strings = source->strings;
	if ((!is_packed && !file_parts(s, source, skeleton, parts)) || !read_unit(s, parts, id)) {
		split_close(s);
		return false;
	}
	return true;
}

void split_close(struct split *s) {
	dwarf_end(s->handle);
	elf_end(s->elf);
	mapped_file_close(&s->file);
	arena_finish(&s->arena);
	*s = (struct split){0};
}

/** The index of a string; false: not indexed. */
static bool string_index(Dwarf_Attribute *attribute, uint64_t *index) {
	switch (dwarf_whatform(attribute)) {
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index: {
		struct cursor c = cursor_init(slice_of(attribute->valp, 10));
		*index = cursor_varint(&c);
		return !c.failed;
	}
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		*index = little_endian(slice_of(attribute->valp, attribute->form - DW_FORM_strx1 + 1u));
		return true;
	default: return false;
	}
}

const char *split_text(const struct split *s, Dwarf_Attribute *attribute) {
	uint64_t index;
	if (!string_index(attribute, &index)) {
		return dwarf_formstring(attribute);
	}
	uint64_t offset = entry_at(s->string_offsets, index, 4);
	struct slice text = from(s->strings, offset);
	return text.size && memchr(text.data, 0, text.size) ? (const char *)text.data : NULL;
}

/** The offset of a version 5 list by its number, or the attribute's offset. */
static uint64_t list_offset(const struct split *s, Dwarf_Attribute *attribute) {
	enum { HEADER_BYTES = 12 }; // length, version, sizes, number of offsets
	if (dwarf_whatform(attribute) != DW_FORM_rnglistx) {
		// elfutils would require the section
		return little_endian(slice_of(attribute->valp, 4));
	}
	struct cursor c = cursor_init(slice_of(attribute->valp, 10));
	uint64_t offset = entry_at(from(s->ranges, HEADER_BYTES), cursor_varint(&c), 4);
	return offset != NO_ENTRY ? HEADER_BYTES + offset : NO_ENTRY;
}

void split_ranges_init(struct split_ranges *r, const struct split *s, Dwarf_Attribute *attribute) {
	r->at = cursor_init(from(s->ranges, list_offset(s, attribute)));
	r->base = s->base;
}

uint64_t split_address_at(struct slice addresses, uint64_t index) {
	uint64_t address = entry_at(addresses, index, 8);
	return address != NO_ENTRY ? address : 0;
}

static bool next_pair(struct split_ranges *r, struct die_range *out) {
	while (cursor_left(&r->at) >= 16) {
		uint64_t start = cursor_u64(&r->at), end = cursor_u64(&r->at);
		if (start == UINT64_MAX) {
			r->base = end;
		} else if (start == 0 && end == 0) {
			return false;
		} else {
			*out = (struct die_range){r->base + start, r->base + end};
			return true;
		}
	}
	return false;
}

bool split_ranges_next(struct split_ranges *r, const struct split *s, struct die_range *out) {
	struct cursor *c = &r->at;
	if (s->version < 5) {
		return next_pair(r, out);
	}
	while (cursor_left(c) > 0) {
		switch (cursor_u8(c)) {
		case DW_RLE_base_addressx:
			r->base = split_address_at(s->addresses, cursor_varint(c));
			continue;
		case DW_RLE_base_address: r->base = cursor_u64(c); continue;
		case DW_RLE_startx_endx:
			out->start = split_address_at(s->addresses, cursor_varint(c));
			out->end = split_address_at(s->addresses, cursor_varint(c));
			break;
		case DW_RLE_startx_length:
			out->start = split_address_at(s->addresses, cursor_varint(c));
			out->end = out->start + cursor_varint(c);
			break;
		case DW_RLE_offset_pair:
			out->start = r->base + cursor_varint(c);
			out->end = r->base + cursor_varint(c);
			break;
		case DW_RLE_start_end:
			out->start = cursor_u64(c);
			out->end = cursor_u64(c);
			break;
		case DW_RLE_start_length:
			out->start = cursor_u64(c);
			out->end = out->start + cursor_varint(c);
			break;
		default: return false; // end of the list, or damage
		}
		return !c->failed;
	}
	return false;
}
