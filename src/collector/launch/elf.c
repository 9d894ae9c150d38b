// SPDX-License-Identifier: MIT
/*
 * What an executable's headers and names say; nothing in the file is trusted.
 *
 * Programs are large and little of them is needed, so the file is mapped, not read.
 */
#include "collector/launch/elf.h"

#include "base/path.h"
#include "injector/find.h"
#include "sys/file.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined __x86_64__
#define OUR_MACHINE EM_X86_64
#elif defined __aarch64__
#define OUR_MACHINE EM_AARCH64
#else
#error "no recorder for this machine"
#endif

enum { MAX_SEGMENTS = 512 };

struct program_headers {
	Elf64_Phdr items[MAX_SEGMENTS];
	unsigned n;
};

static bool read_exactly(int fd, uint64_t offset, void *out, size_t n) {
	size_t got;
	return file_read_at(fd, offset, out, n, &got, NULL) && got == n;
}

static const Elf64_Phdr *find_segment(const struct program_headers *segments, uint32_t type) {
	for (unsigned i = 0; i < segments->n; i++) {
		if (segments->items[i].p_type == type) {
			return &segments->items[i];
		}
	}
	return NULL;
}

static bool offset_of(const struct program_headers *segments, uint64_t address, uint64_t *offset) {
	for (unsigned i = 0; i < segments->n; i++) {
		const Elf64_Phdr *s = &segments->items[i];
		if (s->p_type == PT_LOAD && address - s->p_vaddr < s->p_filesz) {
			*offset = address - s->p_vaddr + s->p_offset;
			return true;
		}
	}
	return false;
}

static struct slice map_file(int fd) {
	struct stat s;
	if (fstat(fd, &s) != 0 || s.st_size <= 0) {
		return (struct slice){0};
	}
	void *file = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	return file == MAP_FAILED ? (struct slice){0} : slice_of(file, (size_t)s.st_size);
}

// The names of the dynamic symbol table and of the needed libraries
static struct slice find_names(struct slice file, const struct program_headers *segments) {
	const Elf64_Phdr *dynamic = find_segment(segments, PT_DYNAMIC);
	uint64_t n = dynamic ? dynamic->p_filesz / sizeof(Elf64_Dyn) : 0;
	if (n == 0 || dynamic->p_offset > file.size ||
			n > (file.size - dynamic->p_offset) / sizeof(Elf64_Dyn)) {
		return (struct slice){0};
	}
	uint64_t address = 0, bytes = 0, offset;
	for (uint64_t i = 0; i < n; i++) {
		Elf64_Dyn entry;
		memcpy(&entry, file.data + dynamic->p_offset + i * sizeof entry, sizeof entry);
		if (entry.d_tag == DT_NULL) {
			break;
		}
		address = entry.d_tag == DT_STRTAB ? entry.d_un.d_ptr : address;
		bytes = entry.d_tag == DT_STRSZ ? entry.d_un.d_val : bytes;
	}
	if (!offset_of(segments, address, &offset) || offset > file.size ||
			bytes > file.size - offset) {
		return (struct slice){0};
	}
	return slice_of(file.data + offset, bytes);
}

static bool has_name(struct slice names, const char *name) {
	return memmem(names.data, names.size, name, strlen(name) + 1) != NULL;
}

// An instrumented program calls its runtime's init function, be that linked in or a library
static enum launch_sanitizer find_sanitizer(struct slice names) {
	static const struct {
		const char *name;
		enum launch_sanitizer which;
	} marks[] = {
			{"__hwasan_init", SANITIZER_HWADDRESS},
			{"__tsan_init", SANITIZER_THREAD},
			{"__msan_init", SANITIZER_MEMORY},
	};
	// Some programs have megabytes of names, and hardly any has one of these
	if (names.size == 0 || !has_name(names, "san_init")) {
		return SANITIZER_NONE;
	}
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		if (has_name(names, marks[i].name)) {
			return marks[i].which;
		}
	}
	return SANITIZER_NONE;
}

static bool is_loader_name(int fd) {
	char link[64], path[4096];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	const char *name = path_base_name(path);
	return strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0;
}

/** Does the file define an allocator, and was it made by Go's compiler? */
static void look_at_image(struct launch_elf *out, struct slice file) {
	struct elf_image image;
	if (elf_image_init(&image, file, NULL)) {
		out->has_allocator = find_defines_allocator(&image, out->has_loader);
		out->is_go = !out->has_loader && !out->has_allocator &&
				elf_has_section(&image, ".go.buildinfo");
	}
}

/** What takes more than the program headers. */
static void look_inside(struct launch_elf *out, int fd, const struct program_headers *segments) {
	struct slice file = map_file(fd);
	if (file.size == 0) {
		return;
	}
	out->sanitizer = find_sanitizer(find_names(file, segments));
	look_at_image(out, file);
	(void)munmap((void *)file.data, file.size);
}

void launch_elf_read(struct launch_elf *out, int fd) {
	*out = (struct launch_elf){0};
	Elf64_Ehdr head;
	if (!read_exactly(fd, 0, &head, SELFMAG) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
		return;
	}
	out->is_elf = true;
	out->is_torn = !read_exactly(fd, 0, &head, sizeof(Elf32_Ehdr));
	if (out->is_torn) {
		return;
	}
	out->is_64_bit = head.e_ident[EI_CLASS] == ELFCLASS64;
	out->machine = head.e_machine; // at the same place in both widths
	out->is_ours = out->is_64_bit && head.e_machine == OUR_MACHINE &&
			head.e_ident[EI_DATA] == ELFDATA2LSB;
	if (!out->is_ours || !read_exactly(fd, 0, &head, sizeof head) ||
			head.e_phentsize != sizeof(Elf64_Phdr)) {
		return;
	}

	struct program_headers *segments = calloc(1, sizeof *segments);
	if (!segments) {
		return;
	}
	segments->n = head.e_phnum < MAX_SEGMENTS ? head.e_phnum : MAX_SEGMENTS;
	if (read_exactly(fd, head.e_phoff, segments->items, segments->n * sizeof(Elf64_Phdr))) {
		const Elf64_Phdr *loader = find_segment(segments, PT_INTERP);
		out->has_loader = loader != NULL;
		if (loader && loader->p_filesz < sizeof out->loader) {
			(void)read_exactly(fd, loader->p_offset, out->loader, loader->p_filesz);
		}
		out->is_loader = !loader && head.e_type == ET_DYN && is_loader_name(fd);
		look_inside(out, fd, segments);
	}
	free(segments);
}

const char *launch_sanitizer_name(enum launch_sanitizer which) {
	static const char *const names[] = {
			[SANITIZER_NONE] = "no sanitizer",
			[SANITIZER_THREAD] = "ThreadSanitizer",
			[SANITIZER_MEMORY] = "MemorySanitizer",
			[SANITIZER_HWADDRESS] = "HWAddressSanitizer",
	};
	return names[which];
}

const char *launch_machine_name(unsigned machine) {
	switch (machine) {
	case EM_386: return "32-bit x86";
	case EM_X86_64: return "x86-64";
	case EM_ARM: return "32-bit ARM";
	case EM_AARCH64: return "ARM64";
	case EM_RISCV: return "RISC-V";
	case EM_PPC64: return "PowerPC 64";
	case EM_S390: return "IBM Z";
	case EM_MIPS: return "MIPS";
	case EM_LOONGARCH: return "LoongArch";
	default: return "an unknown machine";
	}
}
