// SPDX-License-Identifier: MIT
/*
 * Beside the segment's table of modules, a small private list holds those met so far, with the
 * generation in which each was last seen unchanged. When modules may have changed, the next
 * question about each compares its build-id and path again; the same file at the same place keeps
 * its id. The list only grows; an entry is complete once its id is written.
 */
#include "recorder/core/unwind/modules.h"

#include "recorder/core/segment.h"

enum { MODULE_UNKNOWN = WIRE_MODULE_MAX + 1 };

struct known {
	_Atomic uint64_t start, end;
	_Atomic(const uint8_t *) eh_frame_hdr;
	_Atomic(const uint8_t *) eh_frame; // if there is neither `eh_frame_hdr` nor a finder
	_Atomic uint32_t generation;       // in which it was last seen loaded
	_Atomic uint32_t id;               // 0: not complete yet. Written last
};

static struct known *known;
static _Atomic uint32_t n_known;

_Atomic uint32_t code_generation = 1; // a fresh context has 0

// Raised with code_generation when a module may be gone, but not for generated code's tables
static _Atomic uint32_t modules_generation = 1;

struct address_range module_loader;

// Target of /proc/self/exe; the loader has no name for the program. 0 bytes: too long, or unknown
static char program_path[WIRE_MODULE_PATH];
static size_t program_path_bytes;

// Without _dl_find_object: the generation in which the maps were last read; mappings of generated
// code, and how many searches for them failed
enum { GENERATED_MAX = 16 };
static struct { _Atomic uint64_t start, end; } generated[GENERATED_MAX];
static _Atomic uint32_t n_generated;
static _Atomic uint32_t generation_visited;
static _Atomic uint32_t n_misses, n_misses_allowed;

/** Find glibc's loader. musl's is its libc, and never unloads: it is not looked for. */
static void find_loader(void) {
	struct host_object object;
	struct image image;
	if (host_in_loader() == 0) {
		return;
	}
	if (image_read(&image, image_auxiliary(AT_BASE))) {
		module_loader = (struct address_range){image.start, image.end - image.start};
	} else if (host_has_finder() && host_find_object(host_in_loader(), &object)) {
		// The program was started by calling the loader
		uint64_t start = (uint64_t)object.start;
		module_loader = (struct address_range){start, (uint64_t)object.end - start};
	}
}

// ---- announcing

static uint32_t build_id_bytes(const struct image *image) {
	enum { MAX = sizeof(((struct wire_module *)0)->build_id) };
	return image->build_id_bytes < MAX ? image->build_id_bytes : MAX;
}

static uint32_t path_bytes(const struct image *image) {
	return image->path_bytes < WIRE_MODULE_PATH ? (uint32_t)image->path_bytes : WIRE_MODULE_PATH;
}

static uint32_t announce(const struct image *image) {
	uint32_t id = segment_take(&segment.header->n_modules, segment.n_modules);
	if (id == 0) {
		return 0;
	}
	struct wire_module *m = &segment.modules[id];
	m->start = image->start;
	m->end = image->end;
	m->bias = image->bias;
	m->image = segment.image;
	m->build_id_bytes = build_id_bytes(image);
	sys_copy(m->build_id, image->build_id, m->build_id_bytes);
	m->path_bytes = (uint16_t)(image->path_bytes < UINT16_MAX ? image->path_bytes : UINT16_MAX);
	sys_copy(m->path, image->path, path_bytes(image));
	atomic_store_explicit(&m->state, 1, memory_order_release); // the collector waits for it
	return id;
}

uint32_t modules_add_virtual(uint8_t kind, uint16_t layout) {
	uint32_t id = segment_take(&segment.header->n_modules, segment.n_modules);
	if (id != 0) {
		struct wire_module *m = &segment.modules[id];
		m->image = segment.image;
		m->kind = kind;
		m->runtime = layout;
		atomic_store_explicit(&m->state, 1, memory_order_release);
	}
	return id;
}

static bool is_same(const struct wire_module *m, const struct image *image) {
	return m->start == image->start && m->end == image->end && m->bias == image->bias &&
			m->build_id_bytes == build_id_bytes(image) &&
			sys_equal(m->build_id, image->build_id, m->build_id_bytes) &&
			m->path_bytes == image->path_bytes &&
			sys_equal(m->path, image->path, path_bytes(image));
}

static void set_unloaded(uint32_t id, bool is_unloaded) {
	__atomic_store_n(&segment.modules[id].is_unloaded, is_unloaded, __ATOMIC_RELAXED);
}

static void note_tables(struct known *k, const struct image *image) {
	const uint8_t *hdr = image->eh_frame_hdr;
	bool is_hidden = hdr == NULL && !host_has_finder();
	atomic_store(&k->eh_frame, is_hidden ? image_frames(image) : NULL);
	atomic_store(&k->eh_frame_hdr, hdr);
}

/** Find `image` among the first `n` known, and refresh it. NULL: it is new. */
static struct known *recognise(const struct image *image, uint32_t n, uint32_t generation) {
	for (uint32_t i = n; i-- > 0;) {
		struct known *k = &known[i];
		// Acquire pairs with remember()
		uint32_t id = atomic_load_explicit(&k->id, memory_order_acquire);
		if (id != 0 && is_same(&segment.modules[id], image)) {
			if (atomic_load(&k->generation) != generation ||
					atomic_load(&k->eh_frame_hdr) != image->eh_frame_hdr) {
				note_tables(k, image);
			}
			atomic_store(&k->generation, generation);
			set_unloaded(id, false);
			return k;
		}
	}
	return NULL;
}

static uint32_t known_count(void) {
	uint32_t n = atomic_load(&n_known);
	return n < segment.n_modules ? n : segment.n_modules;
}

/** The id of `image`, announced now if it is new. 0: the table is full. */
static uint32_t remember(const struct image *image, uint32_t generation) {
	struct known *k = recognise(image, known_count(), generation);
	if (k != NULL) {
		return atomic_load(&k->id);
	}
	uint32_t id = announce(image);
	uint32_t place = atomic_load(&n_known);
	if (id == 0 || place >= segment.n_modules) {
		return 0;
	}
	place = atomic_fetch_add(&n_known, 1);
	if (place >= segment.n_modules) {
		return id;
	}
	// Another thread may have done the same: the earlier entry wins, ours stays unused
	struct known *earlier = recognise(image, place, generation);
	k = &known[place];
	atomic_store(&k->start, image->start);
	atomic_store(&k->end, image->end);
	note_tables(k, image);
	atomic_store(&k->generation, earlier == NULL ? generation : generation - 1);
	atomic_store_explicit(&k->id, id, memory_order_release);
	return earlier != NULL ? atomic_load(&earlier->id) : id;
}

// ---- asking

static void module_fill(struct module *module, uint32_t id, uint64_t start, uint64_t end,
		const uint8_t *hdr, const uint8_t *frame) {
	module->id = id != 0 ? id : MODULE_UNKNOWN;
	module->tables = (struct eh_tables){hdr, frame, start, end};
	if (hdr != NULL && ((uint64_t)hdr < start || (uint64_t)hdr >= end)) {
		// In another segment, unknown to us
		module->tables.low = 0;
		module->tables.high = INT64_MAX;
	}
}

/** Look among those known to be loaded now. */
static bool known_find(uint64_t pc, struct module *module) {
	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	for (uint32_t i = known_count(); i-- > 0;) {
		struct known *k = &known[i];
		uint32_t id = atomic_load_explicit(&k->id, memory_order_acquire);
		uint64_t start = atomic_load_explicit(&k->start, memory_order_relaxed);
		uint64_t end = atomic_load_explicit(&k->end, memory_order_relaxed);
		if (id != 0 && pc >= start && pc < end && atomic_load(&k->generation) == generation) {
			module_fill(module, id, start, end, atomic_load(&k->eh_frame_hdr),
					atomic_load(&k->eh_frame));
			return true;
		}
	}
	return false;
}

/**
 * What the loader says of an object, with its build-id. Of one with holes between segments it names
 * only the segment asked for: if that is the program, its ELF header tells the rest.
 */
static void image_of_object(struct image *image, const struct host_object *object) {
	image->build_id = NULL;
	image->build_id_bytes = 0;
	image->path = object->map->name;
	image->path_bytes = sys_text_length(image->path);
	bool is_whole = image_read(image, (uint64_t)object->start);
	const uint64_t page_mask = MACHINE_PAGE_LEAST - 1; // the program headers follow the ELF header
	if (!is_whole && image->path_bytes == 0 &&
			image_read(image, image_auxiliary(AT_PHDR) & ~page_mask) &&
			(uint64_t)object->start >= image->start && (uint64_t)object->end <= image->end) {
		image->eh_frame_hdr = object->eh_frame_hdr;
		return;
	}
	if (!is_whole || image->end < (uint64_t)object->end) {
		image->start = (uint64_t)object->start;
		image->end = (uint64_t)object->end;
	}
	image->bias = object->map->bias;
	image->eh_frame_hdr = object->eh_frame_hdr;
}

static bool ask_loader(uint64_t pc, struct module *module) {
	struct host_object object;
	if (!host_find_object(pc, &object)) {
		return false;
	}
	if (known_find(pc, module) && module->tables.hdr == object.eh_frame_hdr) {
		return true;
	}
	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	struct image image;
	image_of_object(&image, &object);
	if (image.path_bytes == 0) {
		image.path = program_path;
		image.path_bytes = program_path_bytes;
	}
	module_fill(module, remember(&image, generation), image.start, image.end, image.eh_frame_hdr,
			NULL);
	return true;
}

static void remember_visited(const struct image *image) {
	(void)remember(image, atomic_load(&modules_generation));
}

/** The mapping that `pc` lies in; both 0: none. */
static struct address_range visit_maps(uint64_t pc) {
	uint32_t generation = atomic_load(&modules_generation);
	struct address_range around = images_visit(remember_visited, pc);
	atomic_store(&generation_visited, generation);
	return around;
}

/** Is it where code of no module was found before? */
static bool is_generated(uint64_t pc) {
	for (unsigned i = 0; i < GENERATED_MAX; i++) {
		if (pc >= atomic_load(&generated[i].start) && pc < atomic_load(&generated[i].end)) {
			return true;
		}
	}
	return false;
}

/**
 * Read the maps again for an unknown program counter: less and less often where generated code was
 * found before, but always once what was known is invalid. Threads that come at the same time each
 * read for themselves, so none waits for another.
 */
static bool find_in_maps(uint64_t pc, struct module *module) {
	enum { MISSES_MAX = 1024 };
	bool was_generated = is_generated(pc);
	uint32_t allowed = atomic_load(&n_misses_allowed);
	if (was_generated && atomic_load(&generation_visited) == atomic_load(&modules_generation) &&
			atomic_fetch_add(&n_misses, 1) < allowed) {
		return false;
	}
	struct address_range around = visit_maps(pc);
	bool is_found = known_find(pc, module);
	if (was_generated) {
		uint32_t more = allowed < MISSES_MAX ? 2 * allowed + 1 : allowed;
		atomic_store(&n_misses_allowed, is_found ? 0 : more);
		atomic_store(&n_misses, 0);
	} else if (!is_found && around.bytes != 0) {
		unsigned i = atomic_fetch_add(&n_generated, 1) % GENERATED_MAX;
		atomic_store(&generated[i].start, around.start);
		atomic_store(&generated[i].end, around.start + around.bytes);
	}
	return is_found;
}

bool modules_setup(void) {
	known = sys_map((size_t)segment.n_modules * sizeof(*known));
	if (known == NULL) {
		return false;
	}
	find_loader();
	if (segment_may_call_system()) { // later the process may exec before the collector comes
		size_t n = sys_read_link("/proc/self/exe", program_path, sizeof program_path);
		program_path_bytes = n == sizeof program_path - 1 ? 0 : n;
	}
	if (!host_has_finder()) {
		(void)visit_maps(0);
	}
	return true;
}

bool module_find(uint64_t pc, struct module *module) {
	if (host_has_finder()) {
		return ask_loader(pc, module);
	}
	return known_find(pc, module) || find_in_maps(pc, module);
}

bool module_covers(uint64_t pc) {
	struct host_object object;
	struct module module;
	return host_has_finder() ? host_find_object(pc, &object) : known_find(pc, &module);
}

static bool is_gone(struct known *k) {
	struct host_object object;
	uint64_t start = atomic_load(&k->start);
	return !host_find_object(start, &object) || (uint64_t)object.start != start ||
			(uint64_t)object.end > atomic_load(&k->end) ||
			object.eh_frame_hdr != atomic_load(&k->eh_frame_hdr);
}

void modules_check(void) {
	uint32_t generation = atomic_load(&modules_generation);
	bool has_changed = !host_has_finder();
	for (uint32_t i = known_count(); i-- > 0 && host_has_finder();) {
		struct known *k = &known[i];
		uint32_t id = atomic_load_explicit(&k->id, memory_order_acquire);
		if (id != 0 && atomic_load(&k->generation) == generation && is_gone(k)) {
			set_unloaded(id, true);
			has_changed = true;
		}
	}
	if (has_changed) {
		atomic_store(&n_misses_allowed, 0);
		atomic_fetch_add_explicit(&modules_generation, 1, memory_order_release);
		atomic_fetch_add_explicit(&code_generation, 1, memory_order_release);
	}
}
