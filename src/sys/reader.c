// SPDX-License-Identifier: MIT
/* Opens regular files, and refuses everything else by name. */
#include "sys/reader.h"

#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_regular(struct file_reader *f, struct err *err) {
	struct stat st;
	if (fstat(f->fd, &st) != 0) {
		return err_system(err, errno, "cannot determine its size");
	}
	if (S_ISDIR(st.st_mode)) {
		return err_set(err, ERR_USAGE, "it is a folder");
	}
	if (!S_ISREG(st.st_mode)) {
		return err_set(err, ERR_USAGE, "it is not a regular file");
	}
	f->size_bytes = (uint64_t)st.st_size;
	return true;
}

bool file_reader_open(struct file_reader *f, const char *path, struct err *err) {
	// O_NONBLOCK: the open of a fifo would wait for its writer
	*f = (struct file_reader){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
	if (f->fd < 0) {
		int e = errno;
		err_system(err, e, "cannot be opened");
		if (err && e == ENOENT) {
			err->code = ERR_NOT_FOUND;
		}
		return false;
	}
	if (!is_regular(f, err)) {
		file_reader_close(f);
		return false;
	}
	return true;
}

bool file_reader_read(const struct file_reader *f, uint64_t offset, void *out, size_t n,
		size_t *got, struct err *err) {
	return file_read_at(f->fd, offset, out, n, got, err);
}

void file_reader_close(struct file_reader *f) {
	if (f && f->fd >= 0) {
		(void)close(f->fd);
		f->fd = -1;
	}
}
