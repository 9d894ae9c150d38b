// SPDX-License-Identifier: MIT
#pragma once

/** Between the parts of modules: an ELF image as it lies in memory. */

#include "recorder/core/capture/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
	uint64_t start, end; // mapped addresses
	uint64_t bias;
	const uint8_t *eh_frame_hdr; // NULL: none
	const uint8_t *build_id;
	uint32_t build_id_bytes;
	const char *path; // as the loader names it
	size_t path_bytes;
};

/** Read the ELF header at `start`: fills in all but the path. False: none is there. */
bool image_read(struct image *image, uint64_t start);

/**
 * The section .eh_frame of an image without .eh_frame_hdr, as linked without --eh-frame-hdr: the file
 * at the image's path says where it lies. NULL: there is none that ends by a record of length 0, or that
 * is another file by now.
 */
const uint8_t *image_frames(const struct image *image);

/**
 * Call `visit` for each ELF image of this process, as /proc/self/maps has them, or host_maps(); its path may be cut. Returns
 * the mapping that `pc` lies in; 0 bytes: in none.
 */
struct capture_range images_visit(void (*visit)(const struct image *image), uint64_t pc);

/** Where the ELF header of the dynamic loader lies (AT_BASE). 0: unknown. */
uint64_t image_of_loader(void);

/** Where the ELF header of the program lies (AT_PHDR). 0: unknown. */
uint64_t image_of_program(void);
