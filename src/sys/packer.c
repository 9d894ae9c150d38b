// SPDX-License-Identifier: MIT
/* Compresses into a temporary file, which is renamed when it is complete. */
#include "sys/file.h"
#include "sys/unpack.h"

#include <zlib.h>
#include <zstd.h>

enum { OUT_BYTES = 128 << 10 };

struct packer {
	int fd;
	const char *path;         // NULL: stdout
	char temporary[PATH_MAX]; // what the file is called meanwhile; empty: it is no file of its own
	ZSTD_CStream *zstd;
	gzFile gzip;
	uint8_t out[OUT_BYTES];
};

static bool put(struct packer *p, const uint8_t *bytes, size_t n, struct err *err) {
	while (n) {
		ssize_t done = write(p->fd, bytes, n);
		if (done < 0 && errno != EINTR) {
			return err_system(err, errno, "cannot write %s", p->path ? p->path : "stdout");
		}
		bytes += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
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
	if (p->gzip) {
		return gzfwrite(bytes.data, 1, bytes.size, p->gzip) == bytes.size ||
				err_system(err, errno, "cannot write %s", p->path ? p->path : "stdout");
	}
	return p->zstd ? put_zstd(p, bytes, ZSTD_e_continue, err) : put(p, bytes.data, bytes.size, err);
}

/** A name that a device or a pipe has is written to as it is; a file is made anew next to it. */
static bool open_file(struct packer *p, const char *path, struct err *err) {
	struct stat s;
	bool is_special = stat(path, &s) == 0 && !S_ISREG(s.st_mode);
	p->path = path;
	if (is_special) {
		p->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	} else {
		(void)snprintf(p->temporary, sizeof p->temporary, "%s.XXXXXX", path);
		p->fd = mkostemp(p->temporary, O_CLOEXEC);
		mode_t mask = umask(0);
		(void)umask(mask);
		if (p->fd >= 0) {
			(void)fchmod(p->fd, 0666 & ~mask);
		}
	}
	return p->fd >= 0 || err_system(err, errno, "cannot write %s", path);
}

static void start_packing(struct packer *p, const char *path, enum packer_how how) {
	const struct slice name = slice_of_text(how == PACKER_BY_NAME ? path : "");
	if (ends_with(name, ".zst")) {
		p->zstd = ZSTD_createCStream() ?: memory_lacks();
	} else if (how == PACKER_GZIP || ends_with(name, ".gz")) {
		p->gzip = gzdopen(dup(p->fd), "wb") ?: memory_lacks();
	}
}

struct packer *packer_open(const char *path, enum packer_how how, struct err *err) {
	struct packer *p = memory_new(1, sizeof *p);
	p->fd = STDOUT_FILENO;
	bool is_stdout = strcmp(path, "-") == 0;
	if (!is_stdout && !open_file(p, path, err)) {
		packer_cancel(p);
		return NULL;
	}
	start_packing(p, path, how);
	return p;
}

bool packer_finish(struct packer *p, struct err *err) {
	bool ok = !p->zstd || put_zstd(p, (struct slice){0}, ZSTD_e_end, err);
	if (p->gzip && gzclose(p->gzip) != Z_OK) {
		ok = err_system(err, errno, "cannot write %s", p->path ? p->path : "stdout");
	}
	p->gzip = NULL;
	if (ok && *p->temporary && rename(p->temporary, p->path) != 0) {
		ok = err_system(err, errno, "cannot write %s", p->path);
	}
	packer_cancel(p); // a file that has its name has no temporary one any more
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
	(void)gzclose(p->gzip); // NULL is fine
	file_close(p->path ? p->fd : -1);
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
