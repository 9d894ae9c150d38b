// SPDX-License-Identifier: MIT
/* Why a process is not recorded: by its mappings, file, auxiliary vector and environment. */
#include "collector/watch/watch.h"

/** The file that the process runs. NULL: it is gone, or (errno is EACCES) another user's. */
static const struct launch_elf *read_elf(struct reason_context *c, pid_t pid) {
	struct process_exe file;
	if (process_exe(pid, &file) && process_is_same_file(&c->file, &file)) {
		return &c->elf;
	}
	CLOSED int fd = open(PROCESS_PATH(pid, "exe"), O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return NULL;
	}
	(void)process_exe_file(PROCESS_PATH(0, "fd/%d", fd), &c->file);
	launch_elf_read(&c->elf, fd);
	return &c->elf;
}

/** Did the kernel tell the loader to ignore the environment? */
static bool gained_rights(pid_t pid) {
	Elf64_auxv_t entries[64];
	long n = process_read(pid, "auxv", (char *)entries, sizeof entries);
	return n > 0 &&
			ANY(i, (size_t)n / sizeof *entries,
					entries[i].a_type == AT_SECURE && entries[i].a_un.a_val != 0);
}

static bool has_other_root(pid_t pid, const char *recorder) {
	struct stat own, theirs;
	if (stat("/", &own) != 0 || stat(PROCESS_PATH(pid, "root"), &theirs) != 0) {
		return false;
	}
	const char *path = FORMAT(64 + 4096, "/proc/%d/root%s", (int)pid, recorder ? recorder : "/");
	return own.st_dev != theirs.st_dev || own.st_ino != theirs.st_ino || access(path, F_OK) != 0;
}

bool reason_was_started_by(struct reason_context *c, pid_t pid) {
	size_t n;
	FREED char *block = process_environment(pid, &n);
	const char *segment = block ? process_variable(block, n, SEGMENT_ENV) : NULL;
	return segment && strcmp(segment, c->segment + sizeof SEGMENT_ENV) == 0;
}

static enum rec_why look_at_environment(struct reason_context *c, pid_t pid) {
	size_t n;
	FREED char *block = process_environment(pid, &n);
	const char *preload = block ? process_variable(block, n, "LD_PRELOAD") : NULL;
	return preload && !strstr(preload, path_base_name(c->recorder)) ? REC_WHY_PRELOAD
			: !block || (preload && reason_was_started_by(c, pid))  ? REC_WHY_UNKNOWN
																	: REC_WHY_ENVIRONMENT;
}

static enum rec_why reason_of_process(struct reason_context *c, pid_t pid) {
	char path[4096];
	const struct launch_elf *elf = read_elf(c, pid);
	if (!elf) {
		return errno == EACCES ? REC_WHY_RIGHTS : REC_WHY_UNKNOWN;
	}
	if (!elf->is_elf || !elf->is_ours) {
		return elf->is_elf && !elf->is_64_bit ? REC_WHY_32_BIT : REC_WHY_UNKNOWN;
	}
	if (process_link(pid, "exe", path, sizeof path) && strstr(path, "/valgrind/")) {
		return REC_WHY_VALGRIND;
	}
	if (gained_rights(pid)) {
		return REC_WHY_RIGHTS;
	}
	if (!elf->has_loader && !elf->is_loader) {
		return elf->has_allocator ? REC_WHY_STATIC : REC_WHY_STRIPPED;
	}
	return has_other_root(pid, c->recorder) ? REC_WHY_ROOT
			: c->recorder && c->segment     ? look_at_environment(c, pid)
											: REC_WHY_PARENT;
}

// The loader maps preloaded libraries before the C library: once that is mapped, they are there
static enum reason_presence find_recorder(struct reason_context *c, pid_t pid) {
	CLOSED_FILE *maps = fopen(PROCESS_PATH(pid, "maps"), "re");
	if (!maps) {
		return errno == EACCES ? REASON_ABSENT : REASON_UNKNOWN;
	}
	enum reason_presence presence = REASON_UNKNOWN;
	FREED char *line = NULL;
	size_t size = 0;
	while (presence != REASON_PRESENT && getline(&line, &size, maps) > 0) {
		if (strstr(line, "/libheaptrack_")) {
			presence = REASON_PRESENT;
		} else if (strstr(line, "/libc.so") || strstr(line, "/libc-2.") ||
				strstr(line, "/ld-musl")) {
			presence = REASON_ABSENT;
		}
	}
	const struct launch_elf *elf = presence == REASON_UNKNOWN ? read_elf(c, pid) : NULL;
	bool loads_nothing = elf && elf->is_elf &&
			(!elf->is_ours || (!elf->has_loader && !elf->is_loader));
	return loads_nothing ? REASON_ABSENT : presence;
}

enum reason_presence reason_presence(struct reason_context *c, pid_t pid, enum rec_why *why) {
	enum reason_presence presence = find_recorder(c, pid);
	*why = presence == REASON_ABSENT ? reason_of_process(c, pid) : REC_WHY_NONE;
	return presence;
}
