// SPDX-License-Identifier: MIT

// The trace reader over whole files, by the calls that users make

#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	fuzz_read(slice_of(data, size));
	return 0;
}
