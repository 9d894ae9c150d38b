// SPDX-License-Identifier: MIT

/* One function that allocates or frees. */

#include "injector/find/found.h"

#include "base/vec.h"

struct found_function *found_add(struct found_functions *out, const struct module_code *module,
		const struct known_function *known, uint64_t address, uint64_t size) {
	struct found_function *item = vec_push(out);
	if (item) {
		*item = (struct found_function){
				.name = known->name,
				.module = module->name,
				.address = address,
				.size = size,
				.module_start = module->start,
				.module_end = module->end,
				.what = known->what,
				.ptr = known->ptr,
				.size_register = known->size,
				.times = known->times,
				.known = known,
		};
	}
	return item;
}
