// SPDX-License-Identifier: MIT
/*
 * Unpacks compressed debug sections as far as they are asked for.
 *
 * Bit by bit by zlib, which can stop and go on; all at once by what is thrice as fast and cannot.
 * Where much is wanted of one section, much will be of the others. Bytes that are not unpacked are
 * pages never touched.
 */
#include "symbols/files/files.h"
#include "sys/pages.h"

#include <zlib.h>

enum {
	STEP_BYTES = 64 << 10, // unpacked at once, at least
	ALL_SHARE = 4,         // where more than a quarter is wanted, all of it
	N_SECTIONS = 11,
};

/** One of those that are unpacked as they are asked for. */
struct late {
	struct compose_section section; // no bytes: the file has none
	uint8_t *to;
	uint64_t n_done;
	z_stream stream;
	bool has_stream;
};

struct unpacked {
	struct late late[N_UNPACKED];
	uint8_t *image;
	size_t image_bytes;
	bool wants_all;
};

static const char *const names[N_SECTIONS] = {
		[UNPACKED_INFO] = ".debug_info",
		[UNPACKED_LINE] = ".debug_line",
		[UNPACKED_ABBREV] = ".debug_abbrev",
		".debug_types",
		".debug_str",
		".debug_line_str",
		".debug_str_offsets",
		".debug_addr",
		".debug_ranges",
		".debug_rnglists",
		".gnu_debugaltlink",
};

static void end_stream(struct late *l) {
	if (l->has_stream) {
		(void)inflateEnd(&l->stream);
		l->has_stream = false;
	}
}

static void unpack_all(struct late *l) {
	end_stream(l);
	if (!compose_unpack(l->to, &l->section)) {
		pages_clear(l->to, l->section.plain_bytes);
	}
	l->n_done = l->section.plain_bytes;
}

struct unpacked *unpacked_create(const struct elf_image *file) {
	struct compose_section sections[N_SECTIONS];
	size_t places[N_SECTIONS], indices[N_SECTIONS];
	size_t n = 0;
	for (size_t i = 0; i < N_SECTIONS; i++) {
		if (compose_find(&sections[n], file, names[i])) {
			indices[n++] = i;
		}
	}
	struct unpacked *u = calloc(1, sizeof *u);
	size_t bytes = compose_bytes(sections, n);
	uint8_t *image = u && bytes ? pages_take(bytes) : NULL;
	if (!image) {
		free(u);
		return NULL;
	}
	u->image = image;
	u->image_bytes = bytes;
	compose_lay_out(image, bytes, sections, n, places);
	for (size_t k = 0; k < n; k++) {
		struct late all = {.section = sections[k], .to = image + places[k]};
		if (indices[k] >= UNPACKED_ABBREV) {
			unpack_all(&all);
		}
		if (indices[k] < N_UNPACKED) {
			u->late[indices[k]] = all;
		}
	}
	return u;
}

void unpacked_destroy(struct unpacked *u) {
	if (!u) {
		return;
	}
	for (size_t i = 0; i < N_UNPACKED; i++) {
		end_stream(&u->late[i]);
	}
	pages_give(u->image, u->image_bytes);
	free(u);
}

struct slice unpacked_image(const struct unpacked *u) {
	return slice_of(u->image, u->image_bytes);
}

static bool begin_stream(struct late *l) {
	if (l->has_stream) {
		return true;
	}
	struct slice packed = l->section.bytes;
	l->stream = (z_stream){.next_in = (Bytef *)packed.data, .avail_in = (uInt)packed.size};
	l->has_stream = packed.size <= UINT32_MAX && l->section.plain_bytes <= UINT32_MAX &&
			inflateInit(&l->stream) == Z_OK;
	return l->has_stream;
}

/** Unpack up to `end`, and a bit more. Where the bytes make no sense, zeros stay. */
static void unpack_some(struct late *l, uint64_t end) {
	uint64_t left = l->section.plain_bytes - l->n_done;
	uint64_t wanted = end - l->n_done < STEP_BYTES ? STEP_BYTES : end - l->n_done;
	wanted = wanted < left ? wanted : left;
	l->stream.next_out = l->to + l->n_done;
	l->stream.avail_out = (uInt)wanted;
	bool is_sound = inflate(&l->stream, Z_SYNC_FLUSH) == Z_OK && l->stream.avail_out == 0;
	l->n_done = is_sound ? l->n_done + wanted : l->section.plain_bytes;
	if (l->n_done == l->section.plain_bytes) {
		end_stream(l);
	}
}

struct slice unpacked_reach(struct unpacked *u, enum unpacked_section section, uint64_t end) {
	struct late *l = &u->late[section];
	uint64_t all = l->section.plain_bytes;
	end = end < all ? end : all;
	if (end > l->n_done) {
		u->wants_all |= end > all / ALL_SHARE && all > ALL_SHARE * STEP_BYTES;
		if (u->wants_all || l->section.packing != ELFCOMPRESS_ZLIB || !begin_stream(l)) {
			unpack_all(l);
		} else {
			unpack_some(l, end);
		}
	}
	return slice_of(l->to, (size_t)l->n_done);
}
