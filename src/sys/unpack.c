// SPDX-License-Identifier: MIT
/*
 * Decompresses member by member, whatever each is packed with.
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
		(void)memory_lacks();
	}
	if (packing == PACKING_ZSTD) {
		u->zstd = ZSTD_createDStream() ?: memory_lacks();
		(void)ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
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
	struct unpack *u = memory_new(1, sizeof *u);
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
