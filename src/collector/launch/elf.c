// SPDX-License-Identifier: MIT
/* What a file's headers and names say, nothing trusted; mapped, since little of it is needed. */
#include "collector/launch/parts.h"
#include "injector/space.h"
#include "wire/segment.h"

static bool has_name(struct slice names, const char *name) {
	return memmem(names.data, names.size, name, strlen(name) + 1) != NULL;
}

// An instrumented program calls its runtime's init function, linked in or in a library
static const char *find_sanitizer(struct slice names) {
	static const struct {
		const char *function, *name;
	} marks[] = {
			{"__hwasan_init", "HWAddressSanitizer"},
			{"__tsan_init", "ThreadSanitizer"},
			{"__msan_init", "MemorySanitizer"},
	};
	// Some programs have megabytes of names, and few have one of these
	if (names.size == 0 || !has_name(names, "san_init")) {
		return NULL;
	}
	__auto_type mark = FIND(m, marks, N_OF(marks), has_name(names, m->function));
	return mark ? mark->name : NULL;
}

static bool is_loader_name(int fd) {
	char path[4096];
	(void)process_link(0, FORMAT(16, "fd/%d", fd), path, sizeof path);
	const char *name = path_base_name(path);
	return strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0;
}

static void look_inside(struct launch_elf *out, const struct elf_image *e, int fd) {
	struct elf_segment loader = elf_segment_of(e, PT_INTERP);
	out->has_loader = loader.type == PT_INTERP;
	struct slice path = elf_segment_bytes(e, &loader);
	if (path.size > 0 && path.size < sizeof out->loader) {
		memcpy(out->loader, path.data, path.size);
	}
	out->is_loader = !out->has_loader && e->type == ET_DYN && is_loader_name(fd);
	// The dynamic symbols' strings also name the needed libraries
	out->sanitizer = find_sanitizer(elf_symbols_of(e, SHT_DYNSYM).names);
	out->has_allocator = find_defines_allocator(e, out->has_loader);
	out->is_go = !out->has_loader && !out->has_allocator && elf_is_go(e);
}

static void read_header(struct launch_elf *out, struct slice file, int fd) {
	Elf64_Ehdr head = {0};
	struct elf_image image;
	out->is_elf = file.size >= SELFMAG && memcmp(file.data, ELFMAG, SELFMAG) == 0;
	out->is_torn = out->is_elf && file.size < sizeof(Elf32_Ehdr);
	if (!out->is_elf || out->is_torn) {
		return;
	}
	memcpy(&head, file.data, sizeof(Elf32_Ehdr));
	out->is_64_bit = head.e_ident[EI_CLASS] == ELFCLASS64;
	out->machine = head.e_machine; // at the same place in both widths
	out->is_ours = out->is_64_bit && head.e_machine == elf_machine &&
			head.e_ident[EI_DATA] == ELFDATA2LSB;
	if (out->is_ours && elf_image_init(&image, file)) {
		look_inside(out, &image, fd);
	}
}

void launch_elf_read(struct launch_elf *out, int fd) {
	*out = (struct launch_elf){0};
	struct slice file = file_map(fd);
	read_header(out, file, fd);
	file_unmap(file);
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

// ---- a program that a process has just executed

/** Does its environment preload the recorder, and tell it where to write? */
static bool is_preloaded(pid_t pid) {
	size_t n;
	FREED char *block = process_environment(pid, &n);
	const char *preload = block ? process_variable(block, n, "LD_PRELOAD") : NULL;
	return preload && strstr(preload, RECORDER_PRELOADED) &&
			process_variable(block, n, SEGMENT_ENV);
}

bool launch_exec_is_ours(pid_t pid, enum injector_start *start) {
	struct launch_elf elf;
	CLOSED int fd = open(PROCESS_PATH(pid, "exe"), O_RDONLY | O_CLOEXEC);
	launch_elf_read(&elf, fd); // nothing, if the file is gone
	if (!elf.is_ours || elf.is_torn || elf.is_loader || elf.sanitizer) {
		return false;
	}
	bool has_glibc = elf.has_loader && strncmp(path_base_name(elf.loader), "ld-musl", 7) != 0;
	*start = has_glibc ? INJECTOR_AT_LOAD : INJECTOR_AT_EXEC;
	return !has_glibc || elf.has_allocator || !is_preloaded(pid);
}
