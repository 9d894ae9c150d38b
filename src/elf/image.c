// SPDX-License-Identifier: MIT
/*
 * Checks each offset, size, index and count where it is used: `part` cuts bytes out of bytes or
 * yields nothing, `texts` ends a table of names in a zero, making any offset a C string.
 */
#include "elf/image.h"

#include "elf/arch/code.h"
#include "wire/image.h"

static struct slice part(struct slice s, uint64_t offset, uint64_t size) {
	return offset > s.size || size > s.size - offset ? (struct slice){0}
													 : slice_of(s.data + offset, size);
}

static struct slice texts(struct slice s) {
	while (s.size && s.data[s.size - 1]) {
		s.size--;
	}
	return s;
}

static const char *text_at(struct slice names, uint64_t offset) {
	return offset < names.size ? (const char *)names.data + offset : "";
}

/** A count that does not fit the header is in the first section's header. */
static void read_sections(struct elf_image *e, const Elf64_Ehdr *h) {
	if (!h->e_shoff || h->e_shentsize != sizeof(Elf64_Shdr)) {
		return;
	}
	uint64_t n = h->e_shnum;
	uint32_t names = h->e_shstrndx;
	struct slice first = part(e->bytes, h->e_shoff, sizeof(Elf64_Shdr));
	if (!first.size) {
		return;
	}
	Elf64_Shdr zero;
	memcpy(&zero, first.data, sizeof zero);
	n = n ?: zero.sh_size;
	names = names == SHN_XINDEX ? zero.sh_link : names;
	if (n > UINT32_MAX) {
		return;
	}
	e->sections = part(e->bytes, h->e_shoff, n * sizeof(Elf64_Shdr));
	e->n_sections = (uint32_t)(e->sections.size / sizeof(Elf64_Shdr));
	struct elf_section s;
	if (elf_section_at(e, names, &s)) {
		e->section_names = texts(s.bytes);
	}
}

bool elf_image_init(struct elf_image *e, struct slice bytes) {
	Elf64_Ehdr h;
	if (bytes.size < sizeof h) {
		return false;
	}
	memcpy(&h, bytes.data, sizeof h);
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
			h.e_ident[EI_DATA] != ELFDATA2LSB) {
		return false;
	}
	*e = (struct elf_image){
			.bytes = bytes,
			.type = h.e_type,
			.machine = h.e_machine,
			.entry = h.e_entry,
	};
	if (h.e_phentsize == sizeof(Elf64_Phdr)) {
		e->segments = part(bytes, h.e_phoff, (uint64_t)h.e_phnum * sizeof(Elf64_Phdr));
		e->n_segments = (uint32_t)(e->segments.size / sizeof(Elf64_Phdr));
	}
	read_sections(e, &h);
	return true;
}

bool elf_section_at(const struct elf_image *e, uint32_t index, struct elf_section *out) {
	if (index >= e->n_sections) {
		return false;
	}
	Elf64_Shdr s;
	memcpy(&s, e->sections.data + index * sizeof s, sizeof s);
	*out = (struct elf_section){
			.name = text_at(e->section_names, s.sh_name),
			.type = s.sh_type,
			.link = s.sh_link,
			.flags = s.sh_flags,
			.address = s.sh_addr,
			.offset = s.sh_offset,
			.size = s.sh_size,
			.bytes = s.sh_type == SHT_NOBITS ? (struct slice){0}
											 : part(e->bytes, s.sh_offset, s.sh_size),
	};
	return true;
}

struct elf_section elf_section_named(const struct elf_image *e, const char *name) {
	struct elf_section s;
	uint32_t i = 1;
	return SOME(elf_section_at(e, i++, &s), strcmp(s.name, name) == 0) ? s
																	   : (struct elf_section){0};
}

bool elf_is_go(const struct elf_image *e) {
	return elf_section_named(e, ".go.buildinfo").bytes.size > 0 ||
			elf_section_named(e, ".gopclntab").bytes.size > 0; // which some builds keep alone
}

struct slice elf_bytes_from(const struct elf_image *e, uint64_t address,
		struct elf_segment *segment) {
	struct elf_segment s;
	for (uint32_t i = 0; elf_segment_next(e, PT_LOAD, &i, &s);) {
		uint64_t skip = address - s.address;
		if (address < s.address || skip >= s.file_bytes) {
			continue;
		}
		if (segment) {
			*segment = s;
		}
		uint64_t end = e->bytes.size < s.offset ? 0 : e->bytes.size - s.offset;
		end = end < s.file_bytes ? end : s.file_bytes;
		return skip < end ? slice_of(e->bytes.data + s.offset + skip, end - skip)
						  : (struct slice){0};
	}
	return (struct slice){0};
}

bool elf_segment_next(const struct elf_image *e, uint32_t type, uint32_t *next,
		struct elf_segment *out) {
	_Static_assert(sizeof *out == sizeof(Elf64_Phdr), "copied as it is");
	bool is_it = false;
	while (!is_it && *next < e->n_segments) {
		memcpy(out, e->segments.data + (*next)++ * sizeof *out, sizeof *out);
		is_it = out->type == type;
	}
	return is_it;
}

struct elf_segment elf_segment_of(const struct elf_image *e, uint32_t type) {
	struct elf_segment s;
	uint32_t first = 0;
	return elf_segment_next(e, type, &first, &s) ? s : (struct elf_segment){0};
}

struct slice elf_segment_bytes(const struct elf_image *e, const struct elf_segment *segment) {
	return part(e->bytes, segment->offset, segment->file_bytes);
}

uint64_t elf_first_code_address(const struct elf_image *e) {
	uint64_t lowest = UINT64_MAX;
	struct elf_section s;
	for (uint32_t i = 1; elf_section_at(e, i, &s); i++) {
		if (s.flags & SHF_EXECINSTR && s.address < lowest) {
			lowest = s.address;
		}
	}
	struct elf_segment p;
	for (uint32_t i = 0; lowest == UINT64_MAX && elf_segment_next(e, PT_LOAD, &i, &p);) {
		lowest = p.flags & PF_X ? p.address : lowest;
	}
	return lowest == UINT64_MAX ? 0 : lowest;
}

static struct slice build_id_in(struct slice notes, uint64_t align) {
	const uint8_t *id = NULL;
	uint32_t bytes = note_build_id(notes.data, notes.size, align, &id);
	return slice_of(id, bytes);
}

struct slice elf_build_id(const struct elf_image *e) {
	struct slice id = {0};
	struct elf_segment p;
	for (uint32_t i = 0; !id.size && elf_segment_next(e, PT_NOTE, &i, &p);) {
		id = build_id_in(elf_segment_bytes(e, &p), p.align);
	}
	// A debug file has segment headers without the bytes: then the sections decide
	struct elf_section s;
	for (uint32_t i = 1; !id.size && elf_section_at(e, i, &s); i++) {
		id = s.type == SHT_NOTE ? build_id_in(s.bytes, 4) : id;
	}
	return id;
}

bool elf_debug_link(const struct elf_image *e, const char **name, uint32_t *crc) {
	struct slice link = elf_section_named(e, ".gnu_debuglink").bytes;
	size_t length = link.size ? strnlen((const char *)link.data, link.size) : 0;
	struct slice sum = part(link, round_up(length + 1, 4), sizeof *crc);
	if (!length || !sum.size) {
		return false;
	}
	*name = (const char *)link.data;
	memcpy(crc, sum.data, sizeof *crc);
	return true;
}

bool elf_alternate_link(const struct elf_image *e, const char **path, struct slice *build_id) {
	struct slice link = elf_section_named(e, ".gnu_debugaltlink").bytes;
	size_t length = link.size ? strnlen((const char *)link.data, link.size) : 0;
	if (!length || length == link.size) {
		return false;
	}
	*path = (const char *)link.data;
	*build_id = part(link, length + 1, link.size - length - 1);
	return true;
}

struct elf_symbols elf_symbols_of(const struct elf_image *e, uint32_t section_type) {
	struct elf_section table, names;
	uint32_t i = 1;
	if (!SOME(elf_section_at(e, i++, &table),
				table.type == section_type && elf_section_at(e, table.link, &names))) {
		return (struct elf_symbols){0};
	}
	size_t n = table.bytes.size / sizeof(Elf64_Sym); // the first is the null symbol
	return (struct elf_symbols){table.bytes, texts(names.bytes), n > 1 ? n : 0, .next = 1};
}

struct elf_symbols elf_symbols_all(const struct elf_image *e) {
	struct elf_symbols s = elf_symbols_of(e, SHT_DYNSYM);
	s.then = e;
	return s;
}

bool elf_symbols_next(struct elf_symbols *s, struct elf_symbol *out) {
	if (s->next >= s->n && s->then) {
		*s = elf_symbols_of(s->then, SHT_SYMTAB);
	}
	if (s->next >= s->n) {
		return false;
	}
	enum { AHEAD = 16 }; // names are scattered: fetch that of a later symbol meanwhile
	Elf64_Sym symbol;
	size_t later = s->next + AHEAD < s->n ? s->next + AHEAD : s->next;
	memcpy(&symbol, s->table.data + later * sizeof symbol, sizeof symbol);
	__builtin_prefetch(text_at(s->names, symbol.st_name));
	memcpy(&symbol, s->table.data + s->next++ * sizeof symbol, sizeof symbol);
	*out = (struct elf_symbol){
			.name = text_at(s->names, symbol.st_name),
			.address = symbol.st_value,
			.size = symbol.st_size,
			.type = ELF64_ST_TYPE(symbol.st_info),
			.binding = ELF64_ST_BIND(symbol.st_info),
			.section = symbol.st_shndx,
	};
	return true;
}

bool elf_symbols_find(struct elf_symbols *s, const char *name, struct elf_symbol *out) {
	return SOME(elf_symbols_next(s, out),
			*out->name == *name && out->section != SHN_UNDEF && strcmp(out->name, name) == 0);
}

// ---- the text at the address that a function returns

/** Bytes of a segment that has these flags and is not writable. */
static struct slice bytes_from(const struct elf_image *e, uint64_t address, uint32_t flags) {
	struct elf_segment s;
	struct slice bytes = elf_bytes_from(e, address, &s);
	return bytes.size > 0 && (s.flags & (flags | PF_W)) == flags ? bytes : (struct slice){0};
}

bool elf_returned(const struct elf_image *e, uint64_t function, uint64_t *address,
		bool *is_loaded) {
	return e->machine == elf_machine &&
			elf_returned_address(bytes_from(e, function, PF_X), function, e->type == ET_EXEC,
					address, is_loaded);
}

static bool text_returned(const struct elf_image *e, uint64_t function, struct slice *out) {
	enum { TEXT_MAX_BYTES = 1 << 20 };
	uint64_t address;
	bool is_loaded;
	if (!elf_returned(e, function, &address, &is_loaded) || is_loaded) {
		return false;
	}
	struct slice rest = bytes_from(e, address, PF_R);
	size_t limit = rest.size < TEXT_MAX_BYTES ? rest.size : TEXT_MAX_BYTES;
	const uint8_t *end = limit ? memchr(rest.data, 0, limit) : NULL;
	*out = slice_of(rest.data, end ? (size_t)(end - rest.data) : 0);
	return end != NULL;
}

static bool find_returned(const struct elf_image *e, uint32_t table, const char *function,
		struct slice *out) {
	struct elf_symbols symbols = elf_symbols_of(e, table);
	struct elf_symbol s;
	// Most files do not even contain the name: searching for that beats going symbol by symbol
	return symbols.names.size > 0 &&
			memmem(symbols.names.data, symbols.names.size, function, strlen(function) + 1) &&
			SOME(elf_symbols_find(&symbols, function, &s), s.type == STT_FUNC) &&
			text_returned(e, s.address, out);
}

bool elf_returned_text(const struct elf_image *e, const char *function, struct slice *out) {
	return find_returned(e, SHT_DYNSYM, function, out) ||
			find_returned(e, SHT_SYMTAB, function, out);
}
