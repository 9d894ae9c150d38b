// SPDX-License-Identifier: MIT
#pragma once
/** What the path of a request means. Exact names only: nothing is joined, decoded or normalised. */

#include "base/slice.h"

enum route_to {
	ROUTE_NOWHERE,
	ROUTE_PAGE,
	ROUTE_PROFILE,
	ROUTE_BASE,
	ROUTE_SOURCE, // `id` is the file's
	ROUTE_WHOLE,
	ROUTE_ALIVE,
};

struct route {
	enum route_to to;
	uint32_t id;
};

struct route route_of(struct slice path);
