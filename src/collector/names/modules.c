// SPDX-License-Identifier: MIT
/*
 * Keeps the files of the program's code open. A module's file is tried under every name it may
 * have, until one has the right build-id: as the process sees it, by what is mapped at its
 * addresses, below the root that the process had, and as heaptrack sees it.
 */
#include "collector/names/namer.h"

enum { HEAD_BYTES = 16 << 10 }; // segments and notes stand at the start of a file

void modules_init(struct modules *m, struct texts *texts, pid_t pid, const char *exe,
		uint32_t max_open) {
	*m = (struct modules){.texts = texts, .pid = pid, .exe = exe, .max_open = max_open};
	m->root_fd = open(PROCESS_PATH(pid, "root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void give_up(struct modules *m, struct module_file *file) {
	if (file->fd >= 0) {
		(void)close(file->fd);
		file->fd = -1;
		m->n_open--;
	}
}

void modules_finish(struct modules *m) {
	for (size_t i = 0; i < m->files.n; i++) {
		give_up(m, &m->files.items[i]);
	}
	if (m->texts && m->root_fd >= 0) { // `texts`: was it initialized?
		(void)close(m->root_fd);
	}
	CALL_FOR(vec_finish, m, files, records);
}

// ---- which file

static struct slice build_id_of(const struct wire_module *module) {
	size_t n = module->build_id_bytes;
	return slice_of(module->build_id, n < sizeof module->build_id ? n : sizeof module->build_id);
}

// True unless both have a build-id and they differ (ours may be cut short)
static bool is_right_file(int fd, const struct wire_module *module) {
	struct slice wanted = build_id_of(module), found = {0};
	FREED uint8_t *head = memory_new(HEAD_BYTES, 1);
	size_t got;
	struct elf_image image;
	if (wanted.size && file_read_at(fd, 0, head, HEAD_BYTES, &got, NULL) &&
			elf_image_init(&image, slice_of(head, got))) {
		found = elf_build_id(&image);
	}
	LOWER_TO(found.size, wanted.size);
	return found.size == 0 || slice_equal(found, wanted);
}

static int open_if_right(const char *path, const struct wire_module *module) {
	// Non-blocking: the name may be a fifo's by now
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return file_keep(fd, is_right_file(fd, module));
}

// What is mapped in that range, even if deleted or replaced since. Needs root's rights
static int open_mapped(pid_t pid, const struct wire_module *module) {
	CLOSED_FOLDER *folder = opendir(PROCESS_PATH(pid, "map_files"));
	int fd = -1;
	for (struct dirent *entry; folder && fd < 0 && (entry = readdir(folder));) {
		uint64_t start, end;
		if (sscanf(entry->d_name, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 &&
				start >= module->start && end <= module->end) {
			fd = open_if_right(PROCESS_PATH(pid, "map_files/%s", entry->d_name), module);
		}
	}
	return fd;
}

static int open_module(const struct modules *m, const struct wire_module *module) {
	char path[PATH_MAX];
	const char *name = module->path;
	pid_t pid = m->pid;
	if (module->kind != MODULE_FILE || name[0] == '[' ||
			(!strchr(name, '/') && strstr(name, "vdso"))) {
		return -1;
	}
	bool is_program = !name[0] ||
			(process_link(pid, "exe", path, sizeof path) && strcmp(path, name) == 0);
	name = is_program ? "" : name; // the link leads to the file even if it was deleted
	(void)snprintf(path, sizeof path, "/proc/%d/%s%s", (int)pid,
			is_program               ? "exe"
					: name[0] == '/' ? "root"
									 : "cwd/",
			name);
	int fd = open_if_right(path, module);
	fd = fd >= 0 ? fd : open_mapped(pid, module);
	name = module->path;
	name = !name[0] && m->exe && module->image == 1 ? m->exe : name;
	if (fd < 0 && name[0] == '/' && m->root_fd >= 0) {
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d%s", m->root_fd, name);
		fd = open_if_right(path, module);
	}
	return fd < 0 && name[0] == '/' ? open_if_right(name, module) : fd;
}

// ---- the tables

/** Another may have to be closed. Any will do: it is unknown which will be needed again. */
static void open_file(struct modules *m, struct module_file *file) {
	EACH_THAT(other, m->files, m->n_open >= m->max_open && !other->is_lent) {
		give_up(m, other);
	}
	file->fd = open_module(m, file->announced);
	m->n_open += file->fd >= 0;
}

static const char *path_of(struct modules *m, const struct wire_module *announced) {
	char path[PATH_MAX];
	if (announced->kind != MODULE_FILE) {
		return announced->kind == MODULE_PYTHON ? "[python]"
				: announced->kind == MODULE_V8  ? "[v8]"
												: "[generated]";
	}
	if (announced->path[0]) {
		return announced->path;
	}
	bool is_known = process_link(m->pid, "exe", path, sizeof path);
	uint32_t id = texts_id_of(m->texts, is_known ? path : announced->image == 1 ? m->exe : "");
	return (const char *)m->texts->items[id].data; // as it was: the program may exec
}

void modules_add(struct modules *m, uint32_t id, const struct wire_module *announced) {
	(void)EVERY(m->files.n <= id, vec_add(&m->files, (struct module_file){.fd = -1}));
	(void)EVERY(m->records.n <= id, vec_push(&m->records));
	struct module_file *file = &m->files.items[id];
	file->announced = announced;
	open_file(m, file);
	file->path = path_of(m, announced);

	struct rec_module *record = &m->records.items[id];
	*record = (struct rec_module){
			FIELDS_OF(announced, start, end, bias),
			.path = texts_id_of(m->texts, file->path),
			.image = announced->image,
			.build_id_bytes = (uint8_t)build_id_of(announced).size,
			.kind = announced->kind,
			.is_unresolved = announced->kind == MODULE_FILE && file->fd < 0,
	};
	memcpy(record->build_id, announced->build_id, record->build_id_bytes);
}

struct symbols_module modules_lend(struct modules *m, uint32_t id) {
	struct module_file *file = &m->files.items[id];
	if (file->fd < 0) {
		open_file(m, file);
	}
	file->is_lent = true;
	return (struct symbols_module){.fd = file->fd,
			.path = file->path,
			.build_id = build_id_of(file->announced)};
}

bool modules_read(void *user, uint64_t address, void *out, size_t bytes) {
	const struct modules *m = user;
	struct iovec here = {out, bytes}, there = {(void *)(uintptr_t)address, bytes};
	return process_vm_readv(m->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}
