// SPDX-License-Identifier: MIT
#include "collector/launch_elf.h"

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

enum { MAX_SEGMENTS = 512, MAX_DYNAMIC = 4096, MAX_NAMES = 64 << 20 };

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

// The names of the dynamic symbol table and of the needed libraries, in memory to be freed
static char *read_names(int fd, const struct program_headers *segments, size_t *size) {
	const Elf64_Phdr *dynamic = find_segment(segments, PT_DYNAMIC);
	if (!dynamic) {
		return NULL;
	}
	uint64_t address = 0, bytes = 0, offset;
	for (unsigned i = 0; i < MAX_DYNAMIC && i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn entry;
		if (!read_exactly(fd, dynamic->p_offset + i * sizeof entry, &entry, sizeof entry) ||
				entry.d_tag == DT_NULL) {
			break;
		}
		address = entry.d_tag == DT_STRTAB ? entry.d_un.d_ptr : address;
		bytes = entry.d_tag == DT_STRSZ ? entry.d_un.d_val : bytes;
	}
	if (bytes == 0 || bytes > MAX_NAMES || !offset_of(segments, address, &offset)) {
		return NULL;
	}
	char *names = malloc(bytes);
	if (names && !read_exactly(fd, offset, names, bytes)) {
		free(names);
		names = NULL;
	}
	*size = bytes;
	return names;
}

// An instrumented program calls its runtime's init function, be that linked in or a library
static enum launch_sanitizer find_sanitizer(int fd, const struct program_headers *segments) {
	static const struct {
		const char *name;
		enum launch_sanitizer which;
	} marks[] = {
			{"__asan_init", SANITIZER_ADDRESS},
			{"__hwasan_init", SANITIZER_HWADDRESS},
			{"__tsan_init", SANITIZER_THREAD},
			{"__msan_init", SANITIZER_MEMORY},
			{"__lsan_init", SANITIZER_LEAK},
			{"liblsan.so.0", SANITIZER_LEAK},
	};
	size_t size;
	char *names = read_names(fd, segments, &size);
	enum launch_sanitizer found = SANITIZER_NONE;
	for (size_t i = 0; names && !found && i < sizeof marks / sizeof *marks; i++) {
		if (memmem(names, size, marks[i].name, strlen(marks[i].name) + 1)) {
			found = marks[i].which;
		}
	}
	free(names);
	return found;
}

static bool is_loader_name(int fd) {
	char link[64], path[4096];
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = 0;
	const char *name = file_base_name(path);
	return strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0;
}

// Mapped, not read: programs are large, their symbol tables are not
static bool defines_allocator(int fd) {
	struct stat s;
	struct elf_image image;
	if (fstat(fd, &s) != 0 || s.st_size <= 0) {
		return false;
	}
	size_t n = (size_t)s.st_size;
	void *file = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	bool found = file != MAP_FAILED && elf_image_init(&image, slice_of(file, n), NULL) &&
			find_defines_allocator(&image);
	if (file != MAP_FAILED) {
		(void)munmap(file, n);
	}
	return found;
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
		out->sanitizer = find_sanitizer(fd, segments);
		out->has_allocator = loader && defines_allocator(fd);
	}
	free(segments);
}

const char *launch_sanitizer_name(enum launch_sanitizer which) {
	static const char *const names[] = {
			[SANITIZER_NONE] = "no sanitizer",
			[SANITIZER_ADDRESS] = "AddressSanitizer",
			[SANITIZER_THREAD] = "ThreadSanitizer",
			[SANITIZER_MEMORY] = "MemorySanitizer",
			[SANITIZER_LEAK] = "LeakSanitizer",
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
