// SPDX-License-Identifier: MIT
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

long file_read_small(const char *path, char *out, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -1;
	}
	size_t n = 0;
	ssize_t got;
	while (n < size - 1 && (got = read(fd, out + n, size - 1 - n)) != 0) {
		if (got < 0 && errno != EINTR) {
			int why = errno;
			(void)close(fd);
			errno = why;
			return -1;
		}
		n += got > 0 ? (size_t)got : 0;
	}
	out[n] = 0;
	(void)close(fd);
	return (long)n;
}

bool file_read_whole(const char *path, struct buffer *out, size_t max_bytes, struct err *err) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool ok = fd >= 0 || err_system(err, errno, "%s: cannot be opened", path);
	for (ssize_t n = 1; ok && n != 0;) {
		uint8_t *room = buffer_room(out, 1 << 12);
		n = room ? read(fd, room, 1 << 12) : 0;
		out->size += n > 0 ? (size_t)n : 0;
		if (!room) {
			ok = err_memory(err);
		} else if (n < 0 && errno != EINTR) {
			ok = err_system(err, errno, "%s: cannot be read", path);
		} else if (out->size > max_bytes) {
			ok = err_set(err, ERR_LIMIT, "%s: larger than %zu bytes", path, max_bytes);
		}
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	return ok;
}

bool file_write_at(int fd, uint64_t offset, const void *data, size_t n, struct err *err) {
	const uint8_t *at = data;
	while (n > 0) {
		ssize_t done = pwrite(fd, at, n, (off_t)offset);
		if (done < 0 && errno == EINTR) {
			continue;
		}
		if (done <= 0) {
			return err_system(err, done < 0 ? errno : ENOSPC, "cannot write");
		}
		at += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
	return true;
}

bool file_read_at(int fd, uint64_t offset, void *out, size_t n, size_t *got, struct err *err) {
	*got = 0;
	while (*got < n) {
		ssize_t done = pread(fd, (uint8_t *)out + *got, n - *got, (off_t)(offset + *got));
		if (done < 0 && errno == EINTR) {
			continue;
		}
		if (done < 0) {
			return err_system(err, errno, "cannot read");
		}
		if (done == 0) {
			break;
		}
		*got += (size_t)done;
	}
	return true;
}

bool file_make_parents(const char *path, unsigned uid, unsigned gid, struct err *err) {
	char folder[PATH_MAX];
	if (strlen(path) >= sizeof folder) {
		return err_set(err, ERR_LIMIT, "the path is longer than %d bytes", PATH_MAX - 1);
	}
	strcpy(folder, path);
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(folder, 0777) == 0) {
			if (uid != (unsigned)-1) {
				(void)chown(folder, uid, gid);
			}
		} else if (errno != EEXIST && errno != EISDIR && access(folder, F_OK) != 0) {
			return err_system(err, errno, "cannot make the folder \"%s\"", folder);
		}
		*slash = '/';
	}
	return true;
}

uint64_t file_free_bytes(int fd) {
	struct statvfs vfs;
	if (fstatvfs(fd, &vfs) != 0) {
		return UINT64_MAX;
	}
	return (uint64_t)vfs.f_bavail * vfs.f_frsize;
}

bool file_is_same(int fd, const char *path) {
	struct stat a, b;
	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
			a.st_ino == b.st_ino;
}

bool file_is_one(const char *a, const char *b) {
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
			x.st_ino == y.st_ino;
}

const char *file_base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

char *file_link_target(const char *path, struct arena *arena) {
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof target);
	if (n < 0) {
		return NULL;
	}
	return arena_text(arena, slice_of(target, (size_t)n));
}
