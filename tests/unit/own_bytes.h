// SPDX-License-Identifier: MIT
#pragma once

/** For tests that read an ELF file: this test itself. */

#include "base/slice.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/** Read into memory of malloc. */
static inline struct slice own_bytes(void) {
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	uint8_t *data = malloc((size_t)st.st_size);
	assert_non_null(data);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	return slice_of(data, (size_t)st.st_size);
}
