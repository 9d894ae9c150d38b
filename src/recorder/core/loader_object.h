// SPDX-License-Identifier: MIT
#pragma once
/** struct dl_find_object and struct link_map, by which glibc's loader describes an object. */

#include <stdint.h>

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
