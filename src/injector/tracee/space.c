// SPDX-License-Identifier: MIT
/* Mappings from /proc/PID/maps; each file with code is opened once per place it is mapped at. */
#include "injector/space.h"

// ---- mappings

bool process_space_read(struct process_space *s, pid_t pid, struct err *err) {
	struct process_usage usage;
	*s = (struct process_space){0};
	errno = 0;
	if (!smaps_read(&s->mappings, pid, "maps")) {
		int why = errno != 0 ? errno : ESRCH; // an ended process has none
		process_space_finish(s);
		return err_system(err, why, "cannot read the mappings of process %d", (int)pid);
	}
	(void)process_usage(pid, &usage);
	s->stack_start = usage.stack;
	s->brk_start = usage.brk;
	return true;
}

void process_space_finish(struct process_space *s) {
	smaps_finish(&s->mappings);
}

// ---- modules

static int open_as_mapped(const struct smaps_area *m, pid_t pid) {
	enum { HOW = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
	struct stat st;
	const char *path = PROCESS_PATH(pid, "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	int fd = open(path, HOW);
	if (fd < 0) { // it needs root's rights; the name will do if it is the same file
		fd = open(FORMAT(4352, "/proc/%d/root%s", (int)pid, m->name), HOW);
		fd = file_keep(fd, fstat(fd, &st) == 0 && st.st_ino == m->inode);
	}
	return fd;
}

/** Is the mapping a segment of the file with bias `wanted` (NULL: any)? `*bias`: its own. */
static bool is_segment(const struct elf_image *image, const struct smaps_area *m, bool is_code,
		const uint64_t *wanted, uint64_t *bias) {
	struct elf_segment segment;
	for (uint32_t i = 0; elf_segment_next(image, PT_LOAD, &i, &segment);) {
		uint64_t first = segment.offset & ~4095ull;
		if ((is_code && (segment.flags & PF_X) == 0) || m->offset < first ||
				m->offset >= segment.offset + segment.file_bytes) {
			continue;
		}
		*bias = m->start - m->offset - (segment.address - segment.offset);
		if (!wanted || *bias == *wanted) {
			return true;
		}
	}
	return false;
}

static bool open_module(struct module_code *module, const struct smaps_area *code, pid_t pid) {
	CLOSED int fd = open_as_mapped(code, pid);
	struct slice file = file_map(fd);
	bool ok = elf_image_init(&module->image, file) &&
			is_segment(&module->image, code, true, NULL, &module->bias);
	if (!ok) {
		file_unmap(file);
	}
	return ok;
}

static bool is_file_of(const struct module_code *module, const struct smaps_area *mapping) {
	return module->inode == mapping->inode && strcmp(module->name, mapping->name) == 0;
}

/** Is it open already? A file may be mapped more than once, in other namespaces (dlmopen). */
static bool is_known(const struct modules_code *m, const struct smaps_area *mapping) {
	uint64_t bias;
	return FIND_IN(module, *m,
			is_file_of(module, mapping) &&
					(!is_segment(&module->image, mapping, true, NULL, &bias) ||
							is_segment(&module->image, mapping, true, &module->bias, &bias)));
}

/** From the first to the last mapping of its file, without those of its other loads. */
static void set_bounds(struct module_code *module, const struct process_space *space) {
	EACH(m, space->mappings) {
		uint64_t bias;
		if (is_file_of(module, m) && is_segment(&module->image, m, false, &module->bias, &bias)) {
			module->start = m->start < module->start ? m->start : module->start;
			module->end = m->end > module->end ? m->end : module->end;
		}
	}
}

bool modules_code_open(struct modules_code *m, const struct process_space *space, pid_t pid,
		struct err *err) {
	*m = (struct modules_code){0};
	EACH(mapping, space->mappings) {
		struct module_code module = {FIELDS_OF(mapping, name, inode, start, end)};
		if (!mapping->is_executable || mapping->inode == 0 || mapping->name[0] != '/' ||
				is_known(m, mapping) || !open_module(&module, mapping, pid)) {
			continue;
		}
		set_bounds(&module, space);
		if (!vec_add(m, module)) {
			file_unmap(module.image.bytes);
			modules_code_close(m);
			return err_memory(err);
		}
	}
	return true;
}

void modules_code_close(struct modules_code *m) {
	for (size_t i = 0; i < m->n; i++) {
		file_unmap(m->items[i].image.bytes);
	}
	vec_finish(m);
}

struct slice module_code_bytes(const struct module_code *module, uint64_t address, size_t n) {
	struct slice bytes = elf_bytes_from(&module->image, address, NULL);
	return slice_of(bytes.data, n < bytes.size ? n : bytes.size);
}
