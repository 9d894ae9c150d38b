// SPDX-License-Identifier: MIT
/* Compares the path with each of the names there are. */
#include "server/route.h"

#include "base/text.h"

/** A plain decimal number that fits, without sign, space or leading zeros. */
static bool parse_id(struct slice s, uint32_t *out) {
	uint64_t id = 0;
	bool ok = s.size > 0 && is_digit(s.data[0]) && (s.size == 1 || s.data[0] != '0') &&
			take_decimal(&s, &id) && s.size == 0 && id <= UINT32_MAX;
	*out = (uint32_t)id;
	return ok;
}

struct route route_of(struct slice path) {
	static const struct {
		const char *path;
		enum route_to to;
	} exact[] = {
			{"/", ROUTE_PAGE},
			{"/profile.bin", ROUTE_PROFILE},
			{"/base.bin", ROUTE_BASE},
			{"/save.html", ROUTE_WHOLE},
			{"/alive", ROUTE_ALIVE},
	};
	for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
		if (slice_equal(path, slice_of_text(exact[i].path))) {
			return (struct route){.to = exact[i].to};
		}
	}
	uint32_t id;
	if (take_prefix(&path, "/source/") && parse_id(path, &id)) {
		return (struct route){ROUTE_SOURCE, id};
	}
	return (struct route){.to = ROUTE_NOWHERE};
}
