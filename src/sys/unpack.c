// SPDX-License-Identifier: MIT
/*
 * Decompresses member by member, whatever each is packed with; and compresses.
 *
 * Packed bytes lie in `in`, from in_at to in_end; what comes out lies in `out`. One way of packing
 * is a function that moves bytes from the one to the other and says when a member has ended.
 */
#include "sys/unpack.h"

#include "sys/file.h"

#include <zlib.h>
#include <zstd.h>

enum { IN_BYTES = 128 << 10, OUT_BYTES = 256 << 10, HEAD_BYTES = 4, WINDOW_LOG_MAX = 27 };

enum packing { PACKING_UNKNOWN, PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

struct unpack {
	int fd;
	uint64_t max_bytes, bytes_out;
	enum packing packing;
	bool in_is_over; // nothing comes behind `in`
	bool has_ended, is_torn;
	bool is_within; // a packed member has begun and not ended
	z_stream gzip;
	ZSTD_DStream *zstd;
	size_t in_at, in_end;
	size_t out_at, out_end;
	uint8_t in[IN_BYTES];
	uint8_t out[OUT_BYTES];
};

// ---- packed bytes

/** More of them behind those that are left. */
static bool fill(struct unpack *u, struct err *err) {
	memmove(u->in, u->in + u->in_at, u->in_end - u->in_at);
	u->in_end -= u->in_at;
	u->in_at = 0;
	ssize_t n = file_read_all(u->fd, u->in + u->in_end, IN_BYTES - u->in_end);
	u->in_end += n > 0 ? (size_t)n : 0;
	u->in_is_over = n == 0;
	return n >= 0 || err_system(err, errno, "cannot be read");
}

/** Enough to know a member by its head, if there is so much. */
static bool fill_head(struct unpack *u, struct err *err) {
	return EVERY(u->in_end - u->in_at < HEAD_BYTES && !u->in_is_over, fill(u, err));
}

static enum packing packing_of(const uint8_t *at, size_t n) {
	static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
	static const uint8_t skippable[] = {0x2a, 0x4d, 0x18}; // behind 0x50 .. 0x5f
	if (n >= 3 && at[0] == 0x1f && at[1] == 0x8b && at[2] == 8) {
		return PACKING_GZIP;
	}
	bool is_zstd = n >= HEAD_BYTES &&
			(memcmp(at, zstd, 4) == 0 || (at[0] >> 4 == 5 && memcmp(at + 1, skippable, 3) == 0));
	return is_zstd ? PACKING_ZSTD : PACKING_NONE;
}

static bool start(struct unpack *u, struct err *err) {
	if (!fill_head(u, err)) {
		return false;
	}
	enum packing packing = packing_of(u->in, u->in_end);
	if (packing == PACKING_GZIP && inflateInit2(&u->gzip, 15 + 16) != Z_OK) {
		return err_memory(err);
	}
	if (packing == PACKING_ZSTD) {
		u->zstd = ZSTD_createDStream();
		if (!u->zstd ||
				ZSTD_isError(
						ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
			return err_memory(err);
		}
	}
	u->packing = packing;
	return true;
}

// ---- one step of each packing: from `in` to the end of `out`

static void step_plain(struct unpack *u) {
	size_t n = u->in_end - u->in_at;
	size_t room = OUT_BYTES - u->out_end;
	n = n < room ? n : room;
	memcpy(u->out + u->out_end, u->in + u->in_at, n);
	u->in_at += n;
	u->out_end += n;
}

static bool step_gzip(struct unpack *u, struct err *err) {
	z_stream *z = &u->gzip;
	z->next_in = u->in + u->in_at;
	z->avail_in = (uInt)(u->in_end - u->in_at);
	z->next_out = u->out + u->out_end;
	z->avail_out = (uInt)(OUT_BYTES - u->out_end);
	int result = inflate(z, Z_NO_FLUSH);
	u->in_at = u->in_end - z->avail_in;
	u->out_end = OUT_BYTES - z->avail_out;
	if (result == Z_MEM_ERROR) {
		return err_memory(err);
	}
	if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
		return err_set(err, ERR_FORMAT, "gzip: %s", z->msg ? z->msg : "damaged");
	}
	u->is_within = result != Z_STREAM_END;
	return u->is_within || inflateReset(z) == Z_OK || err_memory(err);
}

static bool step_zstd(struct unpack *u, struct err *err) {
	ZSTD_inBuffer in = {u->in, u->in_end, u->in_at};
	ZSTD_outBuffer out = {u->out, OUT_BYTES, u->out_end};
	size_t left = ZSTD_decompressStream(u->zstd, &out, &in);
	u->in_at = in.pos;
	u->out_end = out.pos;
	if (ZSTD_isError(left)) {
		return err_set(err, ERR_FORMAT, "zstd: %s", ZSTD_getErrorName(left));
	}
	u->is_within = left != 0;
	return true;
}

static bool step(struct unpack *u, struct err *err) {
	switch (u->packing) {
	case PACKING_GZIP: return step_gzip(u, err);
	case PACKING_ZSTD: return step_zstd(u, err);
	default: step_plain(u); return true;
	}
}

static void end(struct unpack *u, bool is_torn) {
	u->has_ended = true;
	u->is_torn = is_torn;
}

/** Is there another member, or more of this one? */
static bool goes_on(const struct unpack *u) {
	size_t n = u->in_end - u->in_at;
	return u->is_within || u->packing == PACKING_NONE
			? n > 0
			: packing_of(u->in + u->in_at, n) == u->packing;
}

/** More bytes into `out`, or the end. */
static bool advance(struct unpack *u, struct err *err) {
	size_t out_before = u->out_end;
	if (u->packing == PACKING_UNKNOWN && !start(u, err)) {
		return false;
	}
	while (u->out_end == out_before && !u->has_ended) {
		if (!fill_head(u, err)) {
			return false;
		}
		if (!goes_on(u)) {
			end(u, u->is_within || u->in_at < u->in_end);
			break;
		}
		size_t before = u->in_at;
		struct err why = {0};
		if (!step(u, &why)) {
			if (why.code != ERR_FORMAT || u->bytes_out == 0) {
				return err_set(err, why.code, "%s", why.text);
			}
			end(u, true); // damage behind good bytes: those hold
		} else if (u->out_end == out_before && u->in_at == before) {
			if (u->in_is_over) {
				end(u, true);
			} else if (!fill(u, err)) {
				return false;
			}
		}
	}
	u->bytes_out += u->out_end - out_before;
	return u->bytes_out <= u->max_bytes ||
			err_set(err, ERR_LIMIT,
					"decompresses to more than %" PRIu64 " MB, the limit for one file",
					u->max_bytes / 1000000);
}

bool unpack_next(struct unpack *u, struct slice *out, struct err *err) {
	if (u->out_at == u->out_end) {
		u->out_at = u->out_end = 0;
		if (!advance(u, err)) {
			return false;
		}
	}
	*out = slice_of(u->out + u->out_at, u->out_end - u->out_at);
	u->out_at = u->out_end;
	return true;
}

bool unpack_peek(struct unpack *u, size_t n, struct slice *out, struct err *err) {
	if (!EVERY(u->out_end < n && !u->has_ended, advance(u, err))) {
		return false;
	}
	*out = slice_of(u->out, u->out_end);
	return true;
}

bool unpack_is_torn(const struct unpack *u) {
	return u->is_torn;
}

// ---- begin and end

struct unpack *unpack_open(const char *path, uint64_t max_bytes, struct err *err) {
	struct unpack *u = calloc(1, sizeof *u);
	if (!u) {
		return err_memory_null(err);
	}
	u->max_bytes = max_bytes ? max_bytes : UNPACK_DEFAULT_MAX;
	u->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (u->fd < 0) {
		(void)err_system(err, errno, "cannot be opened");
		unpack_close(u);
		return NULL;
	}
	return u;
}

void unpack_close(struct unpack *u) {
	if (!u) {
		return;
	}
	if (u->packing == PACKING_GZIP) {
		(void)inflateEnd(&u->gzip);
	}
	ZSTD_freeDStream(u->zstd);
	file_close(u->fd);
	free(u);
}

// ---- compressing, into a temporary file that is renamed when it is complete

enum { PACKED_BYTES = 128 << 10 };

struct packer {
	int fd;
	char *path;      // NULL: stdout
	char *temporary; // what the file is called meanwhile; NULL: it is no file of its own
	ZSTD_CStream *zstd;
	z_stream gzip;
	bool is_gzip;
	uint8_t out[PACKED_BYTES];
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
		ZSTD_outBuffer out = {p->out, PACKED_BYTES, 0};
		left = ZSTD_compressStream2(p->zstd, &out, &in, how);
		if (ZSTD_isError(left)) {
			return err_set(err, ERR_MEMORY, "zstd: %s", ZSTD_getErrorName(left));
		}
		if (!put(p, p->out, out.pos, err)) {
			return false;
		}
	}
	return true;
}

static bool put_gzip(struct packer *p, struct slice bytes, int flush, struct err *err) {
	p->gzip.next_in = (uint8_t *)bytes.data;
	p->gzip.avail_in = (uInt)bytes.size;
	do {
		p->gzip.next_out = p->out;
		p->gzip.avail_out = PACKED_BYTES;
		if (deflate(&p->gzip, flush) == Z_STREAM_ERROR) {
			return err_set(err, ERR_MEMORY, "gzip: failed");
		}
		if (!put(p, p->out, PACKED_BYTES - p->gzip.avail_out, err)) {
			return false;
		}
	} while (p->gzip.avail_out == 0);
	return true;
}

/** `is_end`: all that is packed comes out. */
static bool deliver(struct packer *p, struct slice bytes, bool is_end, struct err *err) {
	return p->zstd       ? put_zstd(p, bytes, is_end ? ZSTD_e_end : ZSTD_e_continue, err)
			: p->is_gzip ? put_gzip(p, bytes, is_end ? Z_FINISH : Z_NO_FLUSH, err)
						 : put(p, bytes.data, bytes.size, err);
}

bool packer_write(struct packer *p, struct slice bytes, struct err *err) {
	enum { PORTION = 1 << 30 }; // zlib counts in 32 bits
	while (bytes.size) {
		struct slice now = slice_of(bytes.data, bytes.size < PORTION ? bytes.size : PORTION);
		if (!deliver(p, now, false, err)) {
			return false;
		}
		bytes = slice_of(bytes.data + now.size, bytes.size - now.size);
	}
	return true;
}

/** A name that a device or a pipe has is written to as it is; a file is made anew next to it. */
static bool open_file(struct packer *p, const char *path, struct err *err) {
	struct stat s;
	bool is_special = stat(path, &s) == 0 && !S_ISREG(s.st_mode);
	p->path = strdup(path);
	if (!p->path || (!is_special && asprintf(&p->temporary, "%s.XXXXXX", path) < 0)) {
		p->temporary = NULL;
		return err_memory(err);
	}
	if (is_special) {
		p->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	} else {
		p->fd = mkostemp(p->temporary, O_CLOEXEC);
		mode_t mask = umask(0);
		(void)umask(mask);
		if (p->fd >= 0) {
			(void)fchmod(p->fd, 0666 & ~mask);
		}
	}
	return p->fd >= 0 || err_system(err, errno, "cannot write %s", path);
}

static bool start_packing(struct packer *p, const char *path, enum packer_how how,
		struct err *err) {
	if (how == PACKER_BY_NAME && ends_with(slice_of_text(path), ".zst")) {
		p->zstd = ZSTD_createCStream();
		return p->zstd || err_memory(err);
	}
	p->is_gzip = how == PACKER_GZIP ||
			(how == PACKER_BY_NAME && ends_with(slice_of_text(path), ".gz"));
	return !p->is_gzip ||
			deflateInit2(&p->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
					Z_DEFAULT_STRATEGY) == Z_OK ||
			err_memory(err);
}

struct packer *packer_open(const char *path, enum packer_how how, struct err *err) {
	struct packer *p = calloc(1, sizeof *p);
	if (!p) {
		return err_memory_null(err);
	}
	p->fd = STDOUT_FILENO;
	bool is_stdout = strcmp(path, "-") == 0;
	if ((!is_stdout && !open_file(p, path, err)) || !start_packing(p, path, how, err)) {
		packer_cancel(p);
		return NULL;
	}
	return p;
}

bool packer_finish(struct packer *p, struct err *err) {
	bool ok = deliver(p, (struct slice){0}, true, err);
	if (ok && p->temporary && rename(p->temporary, p->path) != 0) {
		ok = err_system(err, errno, "cannot write %s", p->path);
	}
	packer_cancel(p); // a file that has its name has no temporary one any more
	return ok;
}

void packer_cancel(struct packer *p) {
	if (!p) {
		return;
	}
	if (p->temporary) {
		(void)unlink(p->temporary);
	}
	ZSTD_freeCStream(p->zstd);
	if (p->is_gzip) {
		(void)deflateEnd(&p->gzip);
	}
	file_close(p->path ? p->fd : -1);
	free(p->temporary);
	free(p->path);
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
