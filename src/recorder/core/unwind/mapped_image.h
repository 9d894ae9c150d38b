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

/** Read the ELF header at `start`; fills in everything but the path. False: there is none. */
bool image_read(struct image *image, uint64_t start);

/**
 * The section .eh_frame of an image that was linked without --eh-frame-hdr: the file at the image's
 * path says where it lies. NULL: there is none that ends with a record of length 0, or the file has
 * changed.
 */
const uint8_t *image_frames(const struct image *image);

/**
 * Call `visit` for each ELF image in /proc/self/maps, or in host_maps(); its path may be cut.
 * Returns the mapping that `pc` lies in; 0 bytes: in none.
 */
struct address_range images_visit(void (*visit)(const struct image *image), uint64_t pc);

/** Where the ELF header of the dynamic loader lies (AT_BASE). 0: unknown. */
uint64_t image_of_loader(void);

/** Where the ELF header of the program lies (AT_PHDR). 0: unknown. */
uint64_t image_of_program(void);
