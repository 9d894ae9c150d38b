// SPDX-License-Identifier: MIT
/*
 * Looks up files in the databases of dpkg and apk. They are read into a map from a path's hash to
 * its source package, for folders with code. Equal 64-bit hashes are taken for equal paths. dpkg
 * has a list per package: those with names like the file's are read first.
 */
#include "symbols/symbols.h"
#include "sys/file.h"

enum { DATABASE_MAX_BYTES = 1 << 28 };

struct dpkg_entry {
	struct slice package, source, architecture;
	bool is_multi_arch, is_read;
};

struct packages {
	int root_fd; // O_PATH; -1: our own root
	bool is_read;
	struct buffer status;           // dpkg's
	VEC(struct dpkg_entry) entries; // in that
	struct arena arena;             // names of packages
	struct map files;               // hash of the path -> source (const char *)
};

/** If /lib, /bin and /sbin link into /usr, a file has two names; without "/usr" only one. */
static struct slice without_usr(struct slice path) {
	static const char usr[] = "/usr/";
	return path.size > sizeof usr && memcmp(path.data, usr, sizeof usr - 1) == 0
			? slice_of(path.data + sizeof usr - 2, path.size - (sizeof usr - 2))
			: path;
}

static bool may_be_code(struct slice path) {
	static const char *const folders[] = {"/lib", "/bin/", "/sbin/", "/games/", "/opt/"};
	return ANY(i, N_OF(folders), path.size > strlen(folders[i]) && starts_with(path, folders[i]));
}

static void add_file(struct packages *p, struct slice path, const char *source) {
	path = without_usr(path);
	const uint64_t hash = may_be_code(path) ? slice_hash(SLICE_HASH, path) : 0;
	if (hash != 0 && map_get(&p->files, hash) == 0) {
		(void)map_put(&p->files, hash, (uint64_t)(uintptr_t)source);
	}
}

static int open_below_root(const struct packages *p, const char *path, int flags) {
	char full[PATH_MAX];
	int n = p->root_fd >= 0 ? snprintf(full, sizeof full, "/proc/self/fd/%d", p->root_fd) : 0;
	(void)snprintf(full + n, sizeof full - (size_t)n, "%s", path);
	return open(full, flags | O_CLOEXEC);
}

/** All of a file, or nothing. Closes `fd`. */
static struct slice read_text(int fd, struct buffer *out) {
	CLOSED int file = fd;
	buffer_clear(out);
	bool ok = file >= 0 && file_read_rest(file, "", out, DATABASE_MAX_BYTES, NULL);
	return ok ? buffer_view(out) : (struct slice){0};
}

// ---- dpkg

static void read_list(struct packages *p, struct dpkg_entry *e, int folder, struct buffer *list) {
	char name[PATH_MAX];
	// "Source: name (version)", if not the package's name
	struct slice source = before_first(e->source.size ? e->source : e->package, ' ');
	(void)snprintf(name, sizeof name, "%.*s%s%.*s.list", SLICE_ARG(e->package),
			e->is_multi_arch ? ":" : "", e->is_multi_arch ? (int)e->architecture.size : 0,
			(const char *)e->architecture.data);
	const char *text = arena_text(&p->arena, source);
	struct slice rest = read_text(openat(folder, name, O_RDONLY | O_CLOEXEC), list), line;
	while (next_line(&rest, &line)) {
		add_file(p, line, text);
	}
	e->is_read = true;
}

static struct slice stem_of(struct slice name) {
	size_t n = 0;
	(void)take_prefix(&name, "lib");
	while (n < name.size && isalpha(name.data[n])) {
		n++;
	}
	return slice_of(name.data, n);
}

/** One or two letters are whole names. The C library's package also has libm, ld and others. */
static bool is_alike(struct slice package, const char *file) {
	struct slice a = stem_of(slice_of_text(file)), b = stem_of(package);
	bool may_be = a.size == b.size || (a.size > 2 && b.size > a.size);
	return slice_equal(b, slice_of_text("c")) ||
			(may_be && strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0);
}

/** Read the remaining lists, all or those with names like the file's. */
static void read_lists(struct packages *p, const char *file, bool is_any) {
	SCOPED(buffer) list = {0};
	CLOSED int folder = open_below_root(p, "/var/lib/dpkg/info", O_PATH | O_DIRECTORY);
	EACH_THAT(e, p->entries, !e->is_read && (is_any || is_alike(e->package, file))) {
		read_list(p, e, folder, &list);
	}
}

/** Only architecture-dependent packages hold code. */
static void add_entry(struct packages *p, struct dpkg_entry e) {
	bool may_have = e.package.size > 0 && !slice_equal(e.architecture, slice_of_text("all"));
	(void)(may_have && vec_add(&p->entries, e));
}

static void read_dpkg(struct packages *p) {
	struct dpkg_entry e = {0};
	int fd = open_below_root(p, "/var/lib/dpkg/status", O_RDONLY);
	struct slice rest = read_text(fd, &p->status), line;
	while (next_line(&rest, &line)) {
		if (line.size == 0) {
			add_entry(p, e);
			e = (struct dpkg_entry){0};
		} else if (take_prefix(&line, "Package: ")) {
			e.package = line;
		} else if (take_prefix(&line, "Source: ")) {
			e.source = line;
		} else if (take_prefix(&line, "Architecture: ")) {
			e.architecture = line;
		} else if (take_prefix(&line, "Multi-Arch: same")) {
			e.is_multi_arch = true;
		}
	}
	add_entry(p, e);
}

// ---- apk: P: package, o: origin, F: a folder, R: a file in it

static void read_apk(struct packages *p) {
	SCOPED(buffer) installed = {0};
	int fd = open_below_root(p, "/lib/apk/db/installed", O_RDONLY);
	struct slice rest = read_text(fd, &installed);
	struct slice line, folder = {0};
	const char *source = NULL;
	while (next_line(&rest, &line)) {
		char path[PATH_MAX];
		if (take_prefix(&line, "P:") || take_prefix(&line, "o:")) {
			source = arena_text(&p->arena, line);
		} else if (take_prefix(&line, "F:")) {
			folder = line;
		} else if (take_prefix(&line, "R:") && source) {
			(void)snprintf(path, sizeof path, "/%.*s/%.*s", SLICE_ARG(folder), SLICE_ARG(line));
			add_file(p, slice_of_text(path), source);
		}
	}
}

// ---- both

bool packages_may_hold(const char *path) {
	return may_be_code(without_usr(slice_of_text(path)));
}

struct slice packages_source_of(struct packages *p, const char *path) {
	struct slice name = without_usr(slice_of_text(path));
	if (!may_be_code(name)) {
		return (struct slice){0};
	}
	if (!p->is_read) {
		p->is_read = true;
		read_dpkg(p);
		read_apk(p);
	}
	uint64_t hash = slice_hash(SLICE_HASH, name), source = map_get(&p->files, hash);
	for (unsigned is_any = 0; is_any < 2 && !source; is_any++) {
		read_lists(p, path_base_name(path), is_any);
		source = map_get(&p->files, hash);
	}
	return source ? slice_of_text((const char *)(uintptr_t)source) : (struct slice){0};
}

struct packages *packages_create(int root_fd) {
	struct packages *p = memory_new(1, sizeof *p);
	p->root_fd = root_fd;
	return p;
}

void packages_destroy(struct packages *p) {
	if (p) {
		file_close(p->root_fd);
		arena_finish(&p->arena);
		map_finish(&p->files);
		buffer_finish(&p->status);
		vec_finish(&p->entries);
		free(p);
	}
}
