// SPDX-License-Identifier: MIT
#pragma once

/**
 * Opens the segment's descriptor, which the environment variable SEGMENT_ENV describes.
 *
 * Raw system calls only, bounded in time.
 */

#include "wire/segment.h"

#include <stdbool.h>

/** The parts of the variable's value. */
struct join_address {
	int32_t program_pid;
	int32_t collector_pid;
	int32_t fd;
	uint8_t token[16];
	char token_text[33];
};

/** Find the variable and parse it. `environment` may be NULL. False: it is missing or invalid. */
bool join_address_find(struct join_address *a, char **environment);

/**
 * Open the segment, by the collector's descriptors in /proc or by its socket. Returns a descriptor,
 * or
 * -1. The caller checks that it is the right segment.
 */
int join_open(const struct join_address *a);
