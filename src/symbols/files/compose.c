// SPDX-License-Identifier: MIT
/* Lays out an ELF image in memory. */
#include "symbols/files/files.h"
#include "sys/pages.h"

#include <libdeflate.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

// The image: header, sections (aligned to 8 to be read in place), names, section headers

enum { ALIGN = 8 };

static void fill_section(Elf64_Shdr *s, unsigned type, size_t name, size_t at, size_t size) {
	*s = (Elf64_Shdr){.sh_name = (Elf64_Word)name,
			.sh_type = type,
			.sh_offset = at,
			.sh_size = size,
			.sh_addralign = 1};
}

// The size in a compressed section's header is only a claim: nothing compresses better than this
enum { PACKED_RATIO_MAX = 2000 };

/** libdeflate is three times as fast as zlib on libc's debug file. */
static bool unpack_zlib(uint8_t *to, size_t n, struct slice packed) {
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	bool ok = d &&
			libdeflate_zlib_decompress(d, packed.data, packed.size, to, n, NULL) ==
					LIBDEFLATE_SUCCESS;
	if (d) {
		libdeflate_free_decompressor(d);
	}
	return ok;
}

/** False: damaged; do not use the output. */
static bool unpack(uint8_t *to, const struct compose_section *s) {
	struct slice b = s->bytes;
	switch (s->packing) {
	case 0:
		if (b.size) {
			memcpy(to, b.data, b.size);
		}
		return true;
	case ELFCOMPRESS_ZLIB: return unpack_zlib(to, s->plain_bytes, b);
	case ELFCOMPRESS_ZSTD:
		return ZSTD_decompress(to, s->plain_bytes, b.data, b.size) == s->plain_bytes;
	default: return false;
	}
}

static const char own_name[] = ".shstrtab";

/** The size of the image; 0: excessive. */
static size_t image_bytes(const struct compose_section *sections, size_t n) {
	size_t bytes = round_up(sizeof(Elf64_Ehdr), ALIGN), names_bytes = 1 + sizeof own_name;
	for (size_t i = 0; i < n; i++) {
		if (sections[i].plain_bytes / PACKED_RATIO_MAX > sections[i].bytes.size ||
				__builtin_add_overflow(bytes, round_up(sections[i].plain_bytes, ALIGN), &bytes)) {
			return 0;
		}
		names_bytes += strlen(sections[i].name) + 1;
	}
	return bytes + round_up(names_bytes, ALIGN) + (n + 2) * sizeof(Elf64_Shdr);
}

static void lay_out(uint8_t *image, size_t bytes, const struct compose_section *sections,
		size_t n) {
	size_t table_at = bytes - (n + 2) * sizeof(Elf64_Shdr);
	Elf64_Shdr *table = (Elf64_Shdr *)(image + table_at);
	size_t at = round_up(sizeof(Elf64_Ehdr), ALIGN), name = 1;
	*(Elf64_Ehdr *)image = (Elf64_Ehdr){
			.e_ident = ELFMAG "\2\1\1", // 64 bits, little endian, current version
			.e_type = ET_REL,
			.e_machine = elf_machine,
			.e_version = EV_CURRENT,
			.e_shoff = table_at,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = (Elf64_Half)(n + 2),
			.e_shstrndx = (Elf64_Half)(n + 1),
	};
	for (size_t i = 0; i < n; i++) {
		fill_section(&table[i + 1], SHT_PROGBITS, name, at, sections[i].plain_bytes);
		if (!unpack(image + at, &sections[i])) {
			pages_clear(image + at, sections[i].plain_bytes);
		}
		at += round_up(sections[i].plain_bytes, ALIGN);
		name += strlen(sections[i].name) + 1;
	}
	char *names = (char *)image + at;
	for (size_t i = 0; i < n; i++) {
		strcpy(names + table[i + 1].sh_name, sections[i].name);
	}
	strcpy(names + name, own_name);
	fill_section(&table[n + 1], SHT_STRTAB, name, at, name + sizeof own_name);
}

struct slice compose_image(const struct compose_section *sections, size_t n, struct arena *arena) {
	size_t bytes = image_bytes(sections, n);
	uint8_t *image = bytes ? arena_alloc(arena, bytes, 1) : NULL;
	if (image) {
		lay_out(image, bytes, sections, n);
	}
	return slice_of(image, image ? bytes : 0);
}

/** ".debug_x" may be an old ".zdebug_x": "ZLIB", the size (big endian), the zlib stream. */
static bool find_old_packed(struct compose_section *out, const struct elf_image *image,
		const char *name) {
	struct slice bytes = elf_section_named(image, FORMAT(64, ".z%s", name + 1)).bytes;
	if (bytes.size < 12 || memcmp(bytes.data, "ZLIB", 4) != 0) {
		return false;
	}
	uint64_t size = 0;
	for (int i = 4; i < 12; i++) {
		size = size << 8 | bytes.data[i];
	}
	*out = (struct compose_section){name, slice_of(bytes.data + 12, bytes.size - 12), size,
			ELFCOMPRESS_ZLIB};
	return true;
}

/** As it is in the image, by its name or the old one (".zdebug_x"). False: no bytes. */
static bool find(struct compose_section *out, const struct elf_image *image, const char *name) {
	struct elf_section section = elf_section_named(image, name);
	if (section.type == SHT_NULL) {
		return find_old_packed(out, image, name);
	}
	struct slice bytes = section.bytes;
	*out = compose_plain(name, bytes);
	if (section.flags & SHF_COMPRESSED) {
		Elf64_Chdr header = {0};
		if (bytes.size < sizeof header) {
			return false;
		}
		memcpy(&header, bytes.data, sizeof header);
		out->bytes = slice_of(bytes.data + sizeof header, bytes.size - sizeof header);
		out->plain_bytes = header.ch_size;
		out->packing = header.ch_type;
	}
	return bytes.size > 0;
}

struct slice compose_section_bytes(const struct elf_image *image, const char *name,
		struct arena *arena) {
	struct compose_section s;
	if (!find(&s, image, name)) {
		return (struct slice){0};
	}
	if (!s.packing) {
		return s.bytes;
	}
	uint8_t *plain = s.plain_bytes / PACKED_RATIO_MAX <= s.bytes.size
			? arena_alloc(arena, s.plain_bytes, 1)
			: NULL;
	return plain && unpack(plain, &s) ? slice_of(plain, s.plain_bytes) : (struct slice){0};
}

bool compose_is_packed(const struct elf_image *image) {
	struct compose_section s;
	return (find(&s, image, ".debug_info") && s.packing) ||
			(find(&s, image, ".debug_str") && s.packing) ||
			(find(&s, image, ".debug_line") && s.packing);
}

struct slice compose_unpacked(const struct elf_image *file, struct arena *arena) {
	static const char *const names[] = {".debug_info", ".debug_line", ".debug_abbrev",
			".debug_types", ".debug_str", ".debug_line_str", ".debug_str_offsets", ".debug_addr",
			".debug_ranges", ".debug_rnglists", ".gnu_debugaltlink"};
	struct compose_section sections[N_OF(names)];
	size_t n = 0;
	for (size_t i = 0; i < N_OF(names); i++) {
		n += find(&sections[n], file, names[i]);
	}
	return compose_image(sections, n, arena);
}
