// SPDX-License-Identifier: MIT
#pragma once
/** A file open for reading at any offset. A zeroed struct with fd -1 is closed. */

#include "base/base.h"

struct file_reader {
	int fd;
	uint64_t size_bytes; // when opened
};

/** Opens a regular file; anything else (folder, fifo, device) is refused by name. */
bool file_reader_open(struct file_reader *f, const char *path, struct err *err);

/** Up to `n` bytes at `offset`; `*got` is short only at the end of the file. */
bool file_reader_read(const struct file_reader *f, uint64_t offset, void *out, size_t n,
		size_t *got, struct err *err);

void file_reader_close(struct file_reader *f);
