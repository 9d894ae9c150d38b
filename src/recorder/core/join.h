// SPDX-License-Identifier: MIT
#pragma once

/**
 * Getting at the segment's descriptor: from the environment variable SEGMENT_ENV to an open file.
 * Raw system calls only, bounded in time.
 */

#include "wire/segment.h"

#include <stdbool.h>

/** The variable's value, taken apart. */
struct join_address {
	int32_t program_pid;
	int32_t collector_pid;
	int32_t fd;
	uint8_t token[16];
	char token_text[33];
};

/** Find the variable and understand it. `environment` may be NULL. */
bool join_address_find(struct join_address *a, char **environment);

/**
 * Open the segment: out of the collector's descriptors, or by its socket. A descriptor, or -1.
 * The caller checks that it is what the address means.
 */
int join_open(const struct join_address *a);
