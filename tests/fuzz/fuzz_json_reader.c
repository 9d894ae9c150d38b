// SPDX-License-Identifier: MIT
#include "base/err.h"
#include "base/json.h"

// Walks any value two ways: by skipping it, and by taking everything. Both must agree on whether it
// is JSON.

static void walk(struct json_reader *j, unsigned depth) {
	char c = json_peek(j);
	if (c == '{' || c == '[') {
		json_enter(j, c);
		while (json_next(j)) {
			if (depth < 200) {
				walk(j, depth + 1);
			} else {
				json_skip(j);
			}
		}
	} else if (c == '"') {
		struct slice text = json_take_text(j);
		check(text.size == 0 || text.data);
	} else if (c == '0') {
		(void)json_take_signed(j);
	} else {
		json_skip(j);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct json_reader j;
	json_reader_init(&j, slice_of(data, size));
	json_skip(&j);
	bool is_json = !j.failed;
	json_reader_finish(&j);
	json_reader_init(&j, slice_of(data, size));
	walk(&j, 0);
	check(is_json == !j.failed);
	json_reader_finish(&j);
	return 0;
}
