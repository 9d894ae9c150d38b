// SPDX-License-Identifier: MIT
#pragma once
/** ELF images as they lie in memory, and the mappings of this process. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_range {
	uint64_t start, bytes;
};

struct image {
	uint64_t start, end; // mapped addresses
	uint64_t bias;
	const uint8_t *eh_frame_hdr; // NULL: none
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	const char *path; // as the loader names it
	size_t path_bytes;
};

/** struct dl_find_object and struct link_map, by which glibc's loader describes an object. */
struct host_map {
	uint64_t bias;
	const char *name;
};

struct host_object {
	uint64_t flags;
	void *start, *end;
	const struct host_map *map;
	const uint8_t *eh_frame_hdr;
	uint64_t reserved[7];
};

/** Read the ELF header at `start`; fills in all but the path. False: there is none. */
bool image_read(struct image *image, uint64_t start);

/**
 * The section .eh_frame of an image linked without --eh-frame-hdr, by the file at the image's path.
 * NULL: there is none that ends with a record of length 0, or the file has changed.
 */
const uint8_t *image_frames(const struct image *image);

/**
 * Call `visit` for each ELF image in /proc/self/maps, or in host_maps(); its path may be cut.
 * Returns the mapping that `pc` lies in; 0 bytes: none.
 */
struct address_range images_visit(void (*visit)(const struct image *image), uint64_t pc);

/** An entry of the auxiliary vector (AT_BASE...). 0: missing, or unreadable. */
uint64_t image_auxiliary(uint64_t type);
