// SPDX-License-Identifier: MIT
/* Compresses into a temporary file, which is renamed when it is complete. */
#include "sys/file.h"
#include "sys/unpack.h"

#include <zlib.h>
#include <zstd.h>

enum { OUT_BYTES = 128 << 10 };

struct packer {
	gzFile file;              // compresses with gzip, or writes as is
	const char *path;         // or NULL: stdout
	char temporary[PATH_MAX]; // the file's temporary name; empty: not a regular file
	ZSTD_CStream *zstd;       // or NULL
	uint8_t out[OUT_BYTES];
};

static bool cannot_write(const struct packer *p, struct err *err) {
	return err_system(err, errno, "cannot write %s", p->path ? p->path : "stdout");
}

static bool put(struct packer *p, const void *bytes, size_t n, struct err *err) {
	return gzfwrite(bytes, 1, n, p->file) == n || cannot_write(p, err);
}

static bool put_zstd(struct packer *p, struct slice bytes, ZSTD_EndDirective how, struct err *err) {
	ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
	for (size_t left = 1; in.pos < in.size || (how == ZSTD_e_end && left);) {
		ZSTD_outBuffer out = {p->out, OUT_BYTES, 0};
		left = ZSTD_compressStream2(p->zstd, &out, &in, how);
		if (ZSTD_isError(left)) {
			(void)memory_lacks();
		}
		if (!put(p, p->out, out.pos, err)) {
			return false;
		}
	}
	return true;
}

bool packer_write(struct packer *p, struct slice bytes, struct err *err) {
	return p->zstd ? put_zstd(p, bytes, ZSTD_e_continue, err) : put(p, bytes.data, bytes.size, err);
}

/** Devices and pipes are written directly; a file is created anew beside its name. */
static int open_file(struct packer *p) {
	struct stat s;
	if (stat(p->path, &s) == 0 && !S_ISREG(s.st_mode)) {
		return open(p->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	}
	(void)snprintf(p->temporary, sizeof p->temporary, "%s.XXXXXX", p->path);
	mode_t mask = umask(0);
	(void)umask(mask);
	int fd = mkostemp(p->temporary, O_CLOEXEC);
	if (fd >= 0) {
		(void)fchmod(fd, 0666 & ~mask);
	}
	return fd;
}

struct packer *packer_open(const char *path, enum packer_how how, struct err *err) {
	struct packer *p = memory_new(1, sizeof *p);
	const struct slice name = slice_of_text(how == PACKER_BY_NAME ? path : "");
	p->path = strcmp(path, "-") == 0 ? NULL : path;
	int fd = p->path ? open_file(p) : dup(STDOUT_FILENO);
	if (fd < 0) {
		(void)cannot_write(p, err);
		packer_cancel(p);
		return NULL;
	}
	bool is_gzip = how == PACKER_GZIP || ends_with(name, ".gz");
	p->zstd = ends_with(name, ".zst") ? ZSTD_createCStream() ?: memory_lacks() : NULL;
	p->file = gzdopen(fd, is_gzip ? "wb" : "wT") ?: memory_lacks();
	return p;
}

bool packer_finish(struct packer *p, struct err *err) {
	bool ok = !p->zstd || put_zstd(p, (struct slice){0}, ZSTD_e_end, err);
	ok = (gzclose(p->file) == Z_OK || cannot_write(p, err)) && ok;
	p->file = NULL;
	if (ok && *p->temporary && rename(p->temporary, p->path) != 0) {
		ok = cannot_write(p, err);
	}
	packer_cancel(p); // a renamed file has no temporary one
	return ok;
}

void packer_cancel(struct packer *p) {
	if (!p) {
		return;
	}
	if (*p->temporary) {
		(void)unlink(p->temporary);
	}
	ZSTD_freeCStream(p->zstd);
	(void)gzclose(p->file); // NULL is allowed
	free(p);
}

bool packer_put(const char *path, enum packer_how how, struct slice bytes, struct err *err) {
	struct packer *p = packer_open(path, how, err);
	if (p && packer_write(p, bytes, err)) {
		return packer_finish(p, err);
	}
	packer_cancel(p);
	return false;
}
