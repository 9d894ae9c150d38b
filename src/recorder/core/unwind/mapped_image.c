// SPDX-License-Identifier: MIT
/*
 * Reads ELF images without the loader's help, from memory and from /proc/self/maps. ELF header and
 * program headers are at the image's start; all that they point to is in its readable segments.
 */
#include "recorder/core/unwind/mapped_image.h"

#include "recorder/core/segment.h"
#include "wire/image.h"

static void program_header_read(struct image *image, const Elf64_Phdr *header) {
	uint64_t at = image->bias + header->p_vaddr;
	bool is_inside = at >= image->start && at + header->p_memsz <= image->end;
	if (header->p_type == PT_NOTE && is_inside && image->build_id == NULL) {
		image->build_id_bytes = note_build_id((const uint8_t *)at, header->p_memsz, header->p_align,
				&image->build_id);
	}
	if (header->p_type == PT_GNU_EH_FRAME && is_inside) {
		image->eh_frame_hdr = (const void *)at;
	}
}

bool image_read(struct image *image, uint64_t start) {
	const Elf64_Ehdr *header = (const void *)start;
	if (!segment_may_call_system() || !sys_is_readable(start) ||
			!sys_equal(header->e_ident, ELFMAG, SELFMAG) ||
			header->e_phentsize != sizeof(Elf64_Phdr) ||
			header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr) > MACHINE_PAGE_LEAST) {
		return false;
	}
	const Elf64_Phdr *segments = (const void *)(start + header->e_phoff);
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;
	uint64_t header_at = 0; // in the file's own addresses: the first segment may begin after it
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD) {
			uint64_t end = segments[i].p_vaddr + segments[i].p_memsz;
			if (segments[i].p_vaddr < low) {
				low = segments[i].p_vaddr;
				header_at = low - segments[i].p_offset;
			}
			high = end > high ? end : high;
		}
	}
	if (low >= high) {
		return false;
	}
	image->start = start;
	image->bias = start - header_at;
	image->end = image->bias + high;
	image->eh_frame_hdr = NULL;
	image->build_id = NULL;
	image->build_id_bytes = 0;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		program_header_read(image, &segments[i]);
	}
	return true;
}

// ---- what only sections say: they are in the file, not in memory

static bool read_at(long fd, void *to, size_t bytes, uint64_t offset) {
	return syscall_4(__NR_pread64, fd, (long)to, (long)bytes, (long)offset) == (long)bytes;
}

static long open_file(const struct image *image) {
	char path[WIRE_MODULE_PATH];
	if (image->path_bytes == 0 || image->path_bytes >= sizeof(path) || image->path[0] != '/') {
		return -1;
	}
	sys_copy(path, image->path, image->path_bytes);
	path[image->path_bytes] = '\0';
	return sys_open(path);
}

static bool find_frames(long fd, const Elf64_Ehdr *header, Elf64_Shdr *section) {
	static const char wanted[] = ".eh_frame";
	char name[sizeof(wanted)];
	Elf64_Shdr names;
	if (header->e_shentsize != sizeof(names) || header->e_shstrndx >= header->e_shnum ||
			!read_at(fd, &names, sizeof(names),
					header->e_shoff + header->e_shstrndx * sizeof(names))) {
		return false;
	}
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (!read_at(fd, section, sizeof(*section), header->e_shoff + i * sizeof(*section))) {
			return false;
		}
		if (section->sh_flags == SHF_ALLOC &&
				read_at(fd, name, sizeof(name), names.sh_offset + section->sh_name) &&
				sys_equal(name, wanted, sizeof(wanted))) {
			return true;
		}
	}
	return false;
}

/** Is it the same in memory as in the file, as far as its start and end tell? */
static bool is_in_memory(long fd, const struct image *image, const Elf64_Shdr *section) {
	uint64_t at = image->bias + section->sh_addr, size = section->sh_size;
	uint64_t first[2], last;
	return size >= sizeof(first) && at >= image->start && at < image->end &&
			size <= image->end - at && read_at(fd, first, sizeof(first), section->sh_offset) &&
			read_at(fd, &last, sizeof(last), section->sh_offset + size - sizeof(last)) &&
			last >> 32 == 0 && sys_is_readable(at) && sys_is_readable(at + size - sizeof(last)) &&
			sys_equal((const void *)at, first, sizeof(first)) &&
			sys_equal((const void *)(at + size - sizeof(last)), &last, sizeof(last));
}

const uint8_t *image_frames(const struct image *image) {
	Elf64_Ehdr header;
	Elf64_Shdr section;
	if (!segment_may_call_system() || !sys_is_readable(image->start)) {
		return NULL;
	}
	long fd = open_file(image);
	if (sys_failed(fd)) {
		return NULL;
	}
	bool is_found = read_at(fd, &header, sizeof(header), 0) &&
			sys_equal(&header, (const void *)image->start, sizeof(header)) &&
			find_frames(fd, &header, &section) && is_in_memory(fd, image, &section);
	(void)syscall_1(__NR_close, fd);
	return is_found ? (const uint8_t *)(image->bias + section.sh_addr) : NULL;
}

// ---- /proc/self/maps, line by line through a small buffer

struct reader {
	long fd;
	const char *text; // read instead of `fd`; NULL: none
	size_t at, n;
	char bytes[320];
};

static int next_byte(struct reader *r) {
	if (r->text != NULL) {
		return *r->text != 0 ? (unsigned char)*r->text++ : -1;
	}
	if (r->at == r->n) {
		long n = syscall_3(__NR_read, r->fd, (long)r->bytes, sizeof(r->bytes));
		if (sys_failed(n) || n == 0) {
			return -1;
		}
		r->at = 0;
		r->n = (size_t)n;
	}
	return (unsigned char)r->bytes[r->at++];
}

/** A hexadecimal number and the byte after it, which is dropped. */
static uint64_t next_hex(struct reader *r, int *last) {
	uint64_t value = 0;
	for (;;) {
		int c = next_byte(r);
		*last = c;
		if (c >= '0' && c <= '9') {
			value = value << 4 | (uint64_t)(c - '0');
		} else if (c >= 'a' && c <= 'f') {
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		} else {
			return value;
		}
	}
}

static void skip_field(struct reader *r, int *last) {
	do {
		*last = next_byte(r);
	} while (*last != ' ' && *last != '\n' && *last >= 0);
}

/** "start-end perms offset dev inode   path"; the path is counted whole and cut. False: the end. */
static bool next_mapping(struct reader *r, struct address_range *range, bool *is_candidate,
		char path[WIRE_MODULE_PATH], size_t *path_bytes) {
	int last;
	range->start = next_hex(r, &last);
	range->bytes = next_hex(r, &last) - range->start;
	bool is_readable = next_byte(r) == 'r';
	skip_field(r, &last);
	uint64_t offset = next_hex(r, &last);
	skip_field(r, &last); // device
	if (last >= 0) {
		skip_field(r, &last); // inode
	}
	*path_bytes = 0;
	while (last >= 0 && last != '\n') {
		last = next_byte(r);
		if (last < 0 || last == '\n' || (last == ' ' && *path_bytes == 0)) {
			continue;
		}
		if (*path_bytes < WIRE_MODULE_PATH) {
			path[*path_bytes] = (char)last;
		}
		++*path_bytes;
	}
	bool is_vdso = *path_bytes == 6 && sys_equal(path, "[vdso]", 6);
	*is_candidate = is_readable && offset == 0 && *path_bytes > 0 && (path[0] == '/' || is_vdso);
	return last >= 0;
}

struct address_range images_visit(void (*visit)(const struct image *image), uint64_t pc) {
	char path[WIRE_MODULE_PATH];
	struct address_range range, around = {0, 0};
	struct reader r;
	if (!segment_may_call_system()) {
		return around;
	}
	r.fd = sys_open("/proc/self/maps");
	r.text = sys_failed(r.fd) ? host_maps() : NULL;
	r.at = r.n = 0;
	struct image image;
	bool is_candidate;
	while (next_mapping(&r, &range, &is_candidate, path, &image.path_bytes)) {
		around = pc - range.start < range.bytes ? range : around;
		if (is_candidate && image_read(&image, range.start)) {
			image.path = path;
			visit(&image);
		}
	}
	if (r.text == NULL) {
		(void)syscall_1(__NR_close, r.fd);
	}
	return around;
}

uint64_t image_auxiliary(uint64_t type) {
	uint64_t pairs[48], value = 0;
	bool may_read = segment_may_call_system();
	size_t n = may_read ? sys_read_file("/proc/self/auxv", (char *)pairs, sizeof pairs) : 0;
	for (size_t i = 0; i + 2 <= n / sizeof *pairs; i += 2) {
		value = pairs[i] == type ? pairs[i + 1] : value;
	}
	return value;
}
