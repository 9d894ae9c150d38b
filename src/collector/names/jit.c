// SPDX-License-Identifier: MIT
/*
 * Symbolizes generated code. Places are its locations, sorted by address; entries of the map name
 * them. New entries are compared with the places first: a location that gets another name is
 * retired. Then places without a name are looked up in the whole map.
 */
#include "collector/names/namer.h"

enum {
	OPEN_GAP_NS = 100000000, // between two searches for a map,
	DUMP_GAPS = 10,          // every tenth of which is for a dump, too
	OLDER_NS = 1000000000,   // by which the kernel's clocks may differ
	BUFFER_BYTES = 1 << 20,
	STEP_BUFFERS = 8, // read per step, so that the rings need not wait
};

static const uint64_t MAP_MAX_BYTES = 1ull << 30;

// ---- which file

/** False for the file of an earlier process of that number, or of another user. */
static bool is_of_program(pid_t program, int fd) {
	struct stat file, process;
	if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) ||
			stat(FORMAT(32, "/proc/%d", (int)program), &process) != 0) {
		return false;
	}
	uint64_t written_ns = (uint64_t)file.st_mtim.tv_sec * 1000000000u +
			(uint64_t)file.st_mtim.tv_nsec;
	return (file.st_uid == process.st_uid || file.st_uid == 0) &&
			written_ns + OLDER_NS >= process_start_wall_ns(program);
}

static int open_if_of_program(pid_t program, const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	return file_keep(fd, is_of_program(program, fd));
}

static int open_map(pid_t program, pid_t inside) {
	const char *path = FORMAT(64, "/tmp/perf-%d.map", (int)inside);
	int fd = open_if_of_program(program, FORMAT(96, "/proc/%d/root%s", (int)program, path));
	// An ended process has no root: ours is the best guess
	return fd < 0 && program == inside ? open_if_of_program(program, path) : fd;
}

static int open_if_dump(pid_t program, pid_t inside, const char *path) {
	uint8_t header[JIT_DUMP_HEADER_BYTES];
	int fd = open_if_of_program(program, path);
	return file_keep(fd,
			pread(fd, header, sizeof header, 0) == (ssize_t)sizeof header &&
					jit_dump_is_of(slice_of(header, sizeof header), (uint32_t)inside));
}

static int open_mapped_dump(pid_t program, pid_t inside) {
	const char *name = FORMAT(64, "/jit-%d.dump", (int)inside);
	SCOPED(smaps) maps = {0};
	int fd = -1;
	(void)smaps_read(&maps, program, "maps");
	EACH_THAT(area, maps, fd < 0 && ends_with(slice_of_text(area->name), name)) {
		fd = open_if_dump(program, inside,
				FORMAT(PATH_MAX + 64, "/proc/%d/root%s", (int)program, area->name));
	}
	return fd;
}

// ---- the file

/** Read on. False: there is no more yet. */
static bool read_on(struct jit *j) {
	struct stat st;
	size_t got;
	if (fstat(j->fd, &st) != 0 || j->n_read >= MAP_MAX_BYTES) {
		return false;
	}
	if ((uint64_t)st.st_size < j->n_read) {
		// The file was rewritten, and so is the map. Given names stay
		perf_map_finish(&j->map);
		j->map = (struct perf_map){0};
		j->n_read = 0;
	}
	if ((uint64_t)st.st_size == j->n_read ||
			!file_read_at(j->fd, j->n_read, j->buffer, BUFFER_BYTES, &got, NULL)) {
		return false;
	}
	struct slice bytes = slice_of(j->buffer, got);
	uint64_t used = j->is_dump ? jit_dump_feed(&j->map, bytes, j->n_read, (uint64_t)st.st_size)
							   : perf_map_feed(&j->map, bytes, j->n_read);
	if (used == 0 && got == BUFFER_BYTES && !j->is_dump) {
		used = got; // skip a line without an end
	}
	j->n_read += used;
	return used > 0;
}

static uint32_t name_of(const struct jit *j, struct namer *names,
		const struct perf_map_entry *entry) {
	char text[PERF_MAP_NAME_MAX];
	size_t got;
	bool ok = file_read_at(j->fd, entry->name_at, text, entry->name_bytes, &got, NULL) &&
			got == entry->name_bytes;
	return ok ? namer_text(names, slice_of(text, got)) : 0;
}

// ---- places

void jit_add(struct jit *j, const struct rec_location *l, uint32_t id) {
	(void)vec_add(&j->places, (struct jit_place){l->pc - !l->is_exact, id, 0});
	j->n_waiting++;
}

/** Where code of another name is now, the next stack gets a new location. */
static void retire(struct jit *j, struct tries *t, struct namer *names) {
	VEC(uint32_t) gone = {0};
	EACH(entry, j->map.fresh) {
		uint32_t name = 0;
		for (size_t k = sorted_first_of(j->places.items, j->places.n, sizeof *j->places.items,
					 entry->start);
				k < j->places.n && j->places.items[k].pc < entry->end; k++) {
			struct jit_place *place = &j->places.items[k];
			name = name || place->name == 0 ? name : name_of(j, names, entry);
			if (place->name && place->name != name) {
				(void)vec_add(&gone, place->location);
				place->location = 0;
			}
		}
	}
	if (gone.n > 0) {
		tries_retire(t, gone.items, gone.n);
		vec_keep(&j->places, 0, place, place->location != 0);
		j->n_sorted = j->places.n;
	}
	vec_finish(&gone);
}

static void name_waiting(struct jit *j, struct tries *t, struct namer *names) {
	EACH_WHILE(place, j->places, j->n_waiting > 0) {
		const struct perf_map_entry *entry = place->name == 0
				? perf_map_find(&j->map.current, place->pc)
				: NULL;
		place->name = entry ? name_of(j, names, entry) : place->name;
		if (entry && place->name != 0) {
			namer_put(names, &t->locations[place->location],
					(struct rec_frame){.function = place->name});
			j->n_waiting--;
		}
	}
}

// ---- all of it

/** The map has a known name; a jitdump may be anywhere, but the program has mapped it. */
static bool has_source(struct jit *j, uint64_t now_ns, bool is_last) {
	if (j->fd < 0 && (is_last || now_ns >= j->next_open_ns)) {
		j->next_open_ns = now_ns + OPEN_GAP_NS;
		j->fd = open_map(j->program, j->program_inside);
		j->is_dump = j->fd < 0 && (is_last || j->n_looks++ % DUMP_GAPS == 0);
		j->fd = j->is_dump ? open_mapped_dump(j->program, j->program_inside) : j->fd;
	}
	if (j->fd >= 0 && !j->buffer) {
		j->buffer = memory_new(BUFFER_BYTES, 1);
	}
	return j->buffer != NULL;
}

void jit_step(struct jit *j, struct tries *t, struct namer *names, uint64_t now_ns, bool is_last) {
	if (j->places.n == 0 || !has_source(j, now_ns, is_last)) {
		return;
	}
	bool has_new = j->n_sorted < j->places.n;
	for (unsigned i = 0; (is_last || i < STEP_BUFFERS) && read_on(j); i++) {
		has_new = true;
	}
	if (!has_new) {
		return;
	}
	if (j->n_sorted < j->places.n) {
		qsort(j->places.items, j->places.n, sizeof *j->places.items, by_number);
		j->n_sorted = j->places.n;
	}
	perf_map_sort(&j->map);
	retire(j, t, names);
	perf_map_merge(&j->map);
	name_waiting(j, t, names);
}

void jit_init(struct jit *j, pid_t program, pid_t program_inside) {
	*j = (struct jit){
			.program = program,
			.program_inside = program_inside ? program_inside : program,
			.fd = -1,
	};
}

void jit_finish(struct jit *j) {
	perf_map_finish(&j->map);
	vec_finish(&j->places);
	free(j->buffer);
	file_close(j->fd);
}
