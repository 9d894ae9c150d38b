// SPDX-License-Identifier: MIT
/* Reads, writes, compares and locks files. */
#include "sys/file.h"

#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

long file_read_small(const char *path, char *out, size_t size) {
	CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : file_read_all(fd, out, size - 1);
	if (n >= 0) {
		out[n] = 0;
	}
	return n;
}

ssize_t file_read_all(int fd, void *out, size_t size) {
	size_t n = 0;
	for (ssize_t got; n < size && (got = read(fd, (char *)out + n, size - n)) != 0;) {
		if (got < 0 && errno != EINTR) {
			return -1;
		}
		n += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)n;
}

bool file_read_rest(int fd, const char *path, struct buffer *out, size_t max_bytes,
		struct err *err) {
	enum { AT_LEAST = 1 << 12 };
	bool ok = true;
	for (ssize_t n = 1; ok && n != 0;) {
		uint8_t *room = buffer_room(out, AT_LEAST);
		n = room ? read(fd, room, out->capacity - out->size) : 0;
		out->size += n > 0 ? (size_t)n : 0;
		if (!room) {
			ok = err_memory(err);
		} else if (n < 0 && errno != EINTR) {
			ok = err_system(err, errno, "cannot read %s", path);
		} else if (out->size > max_bytes) {
			ok = err_limit(err, "%s: larger than %zu bytes", path, max_bytes);
		}
	}
	return ok;
}

bool file_read_whole(const char *path, struct buffer *out, size_t max_bytes, struct err *err) {
	CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? err_system(err, errno, "cannot open %s", path)
				  : file_read_rest(fd, path, out, max_bytes, err);
}

/** Its writers may determine its contents anyway. */
static bool is_to_be_trusted(int fd, const char *path, const char *beside, struct err *err) {
	struct stat s, other;
	if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
		return err_usage(err, "%s: not a regular file", path);
	}
	bool is_known = s.st_uid == geteuid() || s.st_uid == 0 ||
			(beside && stat(beside, &other) == 0 && other.st_uid == s.st_uid);
	return is_known || err_usage(err, "%s: owned by user %u", path, (unsigned)s.st_uid);
}

bool file_read_found(const char *path, const char *beside, struct buffer *out, size_t max_bytes,
		struct err *err) {
	// O_NONBLOCK: opening a fifo would wait for a writer
	CLOSED int fd = open(path,
			O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (beside ? O_NOFOLLOW : 0));
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		return true;
	}
	if (fd < 0) {
		return beside && errno == ELOOP ? err_usage(err, "%s: a symbolic link", path)
										: err_system(err, errno, "%s", path);
	}
	return is_to_be_trusted(fd, path, beside, err) && file_read_rest(fd, path, out, max_bytes, err);
}

void file_close(int fd) {
	if (fd >= 0) {
		(void)close(fd);
	}
}

int file_keep(int fd, bool is_right) {
	int why = errno;
	if (!is_right) {
		file_close(fd);
	}
	errno = why;
	return is_right ? fd : -1;
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

struct slice file_map(int fd) {
	struct stat s;
	bool may_be = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0;
	void *bytes = may_be ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
						 : MAP_FAILED;
	return bytes == MAP_FAILED ? (struct slice){0} : slice_of(bytes, (size_t)s.st_size);
}

void file_unmap(struct slice bytes) {
	if (bytes.size > 0) {
		(void)munmap((void *)bytes.data, bytes.size);
	}
}

bool file_make_parents(const char *path, unsigned uid, unsigned gid, struct err *err) {
	char folder[PATH_MAX];
	if (strlen(path) >= sizeof folder) {
		return err_limit(err, "the path is longer than %d bytes", PATH_MAX - 1);
	}
	strcpy(folder, path);
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(folder, 0777) == 0) {
			if (uid != (unsigned)-1) {
				(void)chown(folder, uid, gid);
			}
		} else if (errno != EEXIST && errno != EISDIR && access(folder, F_OK) != 0) {
			return err_system(err, errno, "cannot create the folder \"%s\"", folder);
		}
		*slash = '/';
	}
	return true;
}

uint64_t file_free_bytes(int fd) {
	struct statvfs vfs;
	return fstatvfs(fd, &vfs) != 0 ? UINT64_MAX : (uint64_t)vfs.f_bavail * vfs.f_frsize;
}

const char *file_numbered(char out[PATH_MAX], const char *path, int number) {
	size_t n = strlen(path) - (ends_with(slice_of_text(path), ".zst") ? 4 : 0);
	(void)snprintf(out, PATH_MAX, "%.*s%s%.0d%s", (int)n, path, number ? "." : "", number,
			path + n);
	return out;
}

/** False: see errno, EEXIST if the name exists. */
static bool move_to(const char *from, const char *to) {
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
		return true;
	}
	if (errno != EINVAL && errno != ENOSYS) {
		return false;
	}
	errno = EEXIST; // the file system cannot do both atomically
	return access(to, F_OK) != 0 && rename(from, to) == 0;
}

bool file_move(const char *from, const char *path, int number, char to[PATH_MAX], struct err *err) {
	for (; number <= FILE_NUMBERS; number++) {
		if (move_to(from, file_numbered(to, path, number))) {
			return true;
		}
		if (errno != EEXIST) {
			return err_system(err, errno, "cannot rename \"%s\" to \"%s\"", from, to);
		}
	}
	return err_limit(err, "\"%s\" has %d recordings beside it", path, FILE_NUMBERS);
}

bool file_is_same(int fd, const char *path) {
	struct stat a, b;
	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
			a.st_ino == b.st_ino;
}

const char *environment_or(const char *name, const char *otherwise) {
	const char *value = getenv(name);
	return value && *value ? value : otherwise;
}

bool file_is_one(const char *a, const char *b) {
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
			x.st_ino == y.st_ino;
}

bool file_lock(int fd) {
	// Not flock(), whose header <sys/file.h> has the same name as ours
	return syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

char *file_link_next(const char *path, struct arena *arena) {
	char target[PATH_MAX], next[2 * PATH_MAX];
	ssize_t n = readlink(path, target, sizeof target);
	if (n <= 0) {
		return NULL;
	}
	int folder = target[0] == '/' ? 0 : (int)(path_base_name(path) - path);
	int size = snprintf(next, sizeof next, "%.*s%.*s", folder, path, (int)n, target);
	return size < (int)sizeof next ? arena_text(arena, slice_of_text(next)) : NULL;
}

int file_open_regular(const char *path, uint64_t *bytes, struct err *err) {
	// O_NONBLOCK: opening a fifo would wait for a writer
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0) {
		int e = errno;
		err_system(err, e, "cannot be opened");
		if (err && e == ENOENT) {
			err->code = ERR_NOT_FOUND;
		}
		return -1;
	}
	bool is_known = fstat(fd, &st) == 0 || err_system(err, errno, "cannot determine its size");
	bool is_file = is_known && S_ISREG(st.st_mode);
	if (is_known && !is_file) {
		(void)err_usage(err, S_ISDIR(st.st_mode) ? "it is a folder" : "it is not a regular file");
	}
	*bytes = is_file ? (uint64_t)st.st_size : 0;
	return file_keep(fd, is_file);
}
