// SPDX-License-Identifier: MIT
/* Tries the places where the files of a module may be, one by one. */
#include "symbols/files/files.h"

#include <lzma.h>

// ---- xz files

enum { UNPACKED_MAX = 64 << 20, MEMORY_MAX = 128 << 20 };

/**
 * Unpack an xz file, such as .gnu_debugdata; the caller frees `out`. False: damaged, or too large.
 */
static bool xz_unpack(struct slice packed, struct slice *out) {
	// The size is unknown: double until it fits
	for (size_t room = 1 << 20; packed.size && room <= UNPACKED_MAX; room *= 2) {
		uint8_t *data = memory_new(room, 1);
		uint64_t memory = MEMORY_MAX;
		size_t from = 0, to = 0;
		lzma_ret ret = lzma_stream_buffer_decode(&memory, 0, NULL, packed.data, &from, packed.size,
				data, &to, room);
		if (ret == LZMA_OK && to > 0) {
			*out = slice_of(data, to);
			return true;
		}
		free(data);
		if (ret != LZMA_BUF_ERROR || from == packed.size) {
			return false;
		}
	}
	return false;
}

// ---- where the files of a module may be

struct search {
	struct mapped_file *out;
	struct slice build_id;
	uint32_t crc; // if has_crc: of a file without build-id
	bool has_crc;
};

ATTR_PRINTF(2, 3)
static bool try_path(const struct search *s, const char *fmt, ...) {
	char path[PATH_MAX];
	int n = FORMAT_ARGS(path, sizeof path, fmt);
	if (n < 0 || (size_t)n >= sizeof path || !mapped_file_open(s->out, -1, path, s->build_id)) {
		return false;
	}
	bool is_it = !s->has_crc || s->build_id.size || mapped_file_crc(s->out) == s->crc;
	if (!is_it) {
		mapped_file_close(s->out);
	}
	return is_it;
}

/** The folder of a path without its last slash, or ".". */
static struct slice folder_of(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slice_of(path, (size_t)(slash - path)) : slice_of_text(".");
}

static const char *const *list_or_empty(const char *const *list) {
	static const char *const empty[] = {NULL};
	return list ? list : empty;
}

/** Try a name in each of some folders; `fmt` takes a folder and the name. */
static bool try_each(struct search *s, const char *const *folders, const char *fmt,
		const char *name) {
	const char *const *p = list_or_empty(folders);
	return SOME(*p, try_path(s, fmt, *p++, name));
}

/** Try possible roots: the sysroot, then extra paths, then the real one. */
static bool try_roots(struct search *s, const struct symbols_options *o, const char *path) {
	return (o->sysroot && try_path(s, "%s/%s", o->sysroot, path)) ||
			try_each(s, o->extra_paths, "%s/%s", path) || try_path(s, "%s", path);
}

enum { BUILD_ID_BYTES_MAX = 64 };

static bool find_by_build_id(struct search *s, const struct symbols_options *o) {
	char id[2 * BUILD_ID_BYTES_MAX + 2]; // "ab/cdef01..."
	if (s->build_id.size < 2 || s->build_id.size > BUILD_ID_BYTES_MAX) {
		return false;
	}
	put_hexadecimal(id, s->build_id.data, 1);
	id[2] = '/';
	put_hexadecimal(id + 3, s->build_id.data + 1, s->build_id.size - 1);
	return try_each(s, o->debug_paths, "%s/.build-id/%s.debug", id) ||
			try_roots(s, o, FORMAT(sizeof id + 40, "/usr/lib/debug/.build-id/%s.debug", id));
}

static bool find_by_link(struct search *s, const struct symbols_options *o,
		const struct mapped_file *image, const char *module_path) {
	const char *name;
	s->has_crc = elf_debug_link(&image->elf, &name, &s->crc);
	if (!s->has_crc) {
		return false;
	}
	struct slice folder = folder_of(module_path);
	for (const char *const *p = list_or_empty(o->debug_paths); *p; p++) {
		if (try_path(s, "%s/%s", *p, name) ||
				try_path(s, "%s/%.*s/%s", *p, SLICE_ARG(folder), name)) {
			return true;
		}
	}
	// Beside the file that was found, which is below the sysroot if the module was
	struct slice here = folder_of(image->path);
	return try_path(s, "%.*s/%s", SLICE_ARG(here), name) ||
			try_path(s, "%.*s/.debug/%s", SLICE_ARG(here), name) ||
			(o->sysroot &&
					try_path(s, "%s/usr/lib/debug/%.*s/%s", o->sysroot, SLICE_ARG(folder), name)) ||
			try_path(s, "/usr/lib/debug/%.*s/%s", SLICE_ARG(folder), name);
}

static bool find_alternate(struct search *s, const struct symbols_options *o,
		const struct mapped_file *user) {
	const char *path;
	if (!elf_alternate_link(&user->elf, &path, &s->build_id) || !s->build_id.size) {
		return false;
	}
	struct slice folder = folder_of(user->path);
	bool is_there = *path == '/' ? try_roots(s, o, path)
								 : try_path(s, "%.*s/%s", SLICE_ARG(folder), path);
	return is_there || try_each(s, o->debug_paths, "%s/%s", path_base_name(path)) ||
			try_each(s, o->debug_paths, "%s/.dwz/%s", path_base_name(path)) ||
			find_by_build_id(s, o);
}

static bool has_dwarf(const struct mapped_file *m) {
	return m->bytes.size &&
			(elf_section_named(&m->elf, ".debug_info").bytes.size ||
					elf_section_named(&m->elf, ".zdebug_info").bytes.size);
}

const struct mapped_file *module_files_dwarf(const struct module_files *f) {
	return has_dwarf(&f->image) ? &f->image : has_dwarf(&f->debug) ? &f->debug : NULL;
}

static void open_minidebug(struct module_files *f) {
	if (f->image.bytes.size &&
			xz_unpack(elf_section_named(&f->image.elf, ".gnu_debugdata").bytes, &f->minidebug) &&
			!elf_image_init(&f->minidebug_elf, f->minidebug)) {
		free((void *)f->minidebug.data);
		f->minidebug = (struct slice){0};
	}
}

bool module_files_find(struct module_files *f, const struct symbols_options *options,
		const struct symbols_module *module) {
	*f = (struct module_files){0};
	struct search s = {.out = &f->image, .build_id = module->build_id};
	const char *path = module->path ? module->path : "";
	bool has_image = (module->fd >= 0 && mapped_file_open(s.out, module->fd, path, s.build_id)) ||
			(*path &&
					(try_each(&s, options->extra_paths, "%s/%s", path_base_name(path)) ||
							try_roots(&s, options, path)));
	struct slice id = has_image ? elf_build_id(&f->image.elf) : module->build_id;
	struct search debug = {.out = &f->debug, .build_id = id};
	if ((!has_image || !has_dwarf(&f->image)) && !find_by_build_id(&debug, options) && has_image) {
		(void)find_by_link(&debug, options, &f->image, path);
	}
	if (!f->debug.bytes.size) {
		open_minidebug(f);
	}
	const struct mapped_file *user = module_files_dwarf(f);
	struct search alternate = {.out = &f->alternate};
	if (user) {
		(void)find_alternate(&alternate, options, user);
	}
	return has_image || f->debug.bytes.size;
}

bool module_files_open_split(struct mapped_file *out, const struct symbols_options *options,
		const char *module_path, const char *folder, const char *name) {
	struct search s = {.out = out};
	struct slice beside = folder_of(module_path);
	bool is_there = *name == '/'
			? try_roots(&s, options, name)
			: (options->sysroot && try_path(&s, "%s/%s/%s", options->sysroot, folder, name)) ||
					try_path(&s, "%s/%s", folder, name);
	return is_there || try_path(&s, "%.*s/%s", SLICE_ARG(beside), name) ||
			try_path(&s, "%.*s/%s", SLICE_ARG(beside), path_base_name(name)) ||
			try_each(&s, options->debug_paths, "%s/%s", path_base_name(name));
}

bool module_files_open_package(struct mapped_file *out, const struct module_files *f,
		const struct symbols_options *options, const char *module_path) {
	struct search s = {.out = out};
	const char *const beside[] = {f->image.path, f->debug.path};
	return ANY(i, N_OF(beside), beside[i] && try_path(&s, "%s.dwp", beside[i])) ||
			try_each(&s, options->debug_paths, "%s/%s.dwp", path_base_name(module_path));
}

void module_files_close(struct module_files *f) {
	if (f) {
		CALL_FOR(mapped_file_close, f, image, debug, alternate);
		free((void *)f->minidebug.data);
		*f = (struct module_files){0};
	}
}
