// SPDX-License-Identifier: MIT
/*
 * zlib's gzFile decompresses gzip and passes on other files. zstd's are decompressed here, frame by
 * frame. Compressed bytes are in `in`, from in_at to in_end; output is in `out`.
 */
#include "sys/unpack.h"

#include "sys/file.h"

#include <zlib.h>
#include <zstd.h>

enum { IN_BYTES = 128 << 10, OUT_BYTES = 256 << 10, HEAD_BYTES = 4, WINDOW_LOG_MAX = 27 };

struct unpack {
	gzFile file;
	ZSTD_DStream *zstd; // NULL: not zstd
	uint64_t max_bytes, bytes_out;
	bool has_begun, in_is_over; // nothing follows `in`
	bool has_ended, is_torn;
	bool is_within; // inside a frame
	size_t in_at, in_end;
	size_t out_at, out_end;
	uint8_t in[IN_BYTES];
	uint8_t out[OUT_BYTES];
};

/** Read more bytes. Damage after good bytes counts as the end: those are valid. */
static bool read_on(struct unpack *u, uint8_t *to, size_t room, size_t *got, struct err *err) {
	int code, n = gzread(u->file, to, (unsigned)room);
	const char *why = gzerror(u->file, &code); // "<fd:3>: incorrect data check"
	const char *what = strstr(why, ": ");
	if (n < 0 && code == Z_ERRNO) {
		return err_system(err, errno, "cannot be read");
	}
	if (n < 0 && u->bytes_out == 0) {
		return err_format(err, "gzip: %s", what ? what + 2 : why);
	}
	u->is_torn = n < 0 || code == Z_BUF_ERROR;
	u->in_is_over = n <= 0;
	*got = n > 0 ? (size_t)n : 0;
	return true;
}

static bool fill(struct unpack *u, struct err *err) {
	size_t got;
	memmove(u->in, u->in + u->in_at, u->in_end - u->in_at);
	u->in_end -= u->in_at;
	u->in_at = 0;
	if (!read_on(u, u->in + u->in_end, IN_BYTES - u->in_end, &got, err)) {
		return false;
	}
	u->in_end += got;
	return true;
}

/** Read enough to recognize a frame, if possible. */
static bool fill_head(struct unpack *u, struct err *err) {
	return EVERY(u->in_end - u->in_at < HEAD_BYTES && !u->in_is_over, fill(u, err));
}

static bool is_frame(const uint8_t *at, size_t n) {
	static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
	static const uint8_t skippable[] = {0x2a, 0x4d, 0x18}; // after 0x50 .. 0x5f
	return n >= HEAD_BYTES &&
			(memcmp(at, zstd, 4) == 0 || (at[0] >> 4 == 5 && memcmp(at + 1, skippable, 3) == 0));
}

static bool begin(struct unpack *u, struct err *err) {
	if (!fill_head(u, err)) {
		return false;
	}
	u->has_begun = true;
	if (is_frame(u->in, u->in_end)) {
		u->zstd = ZSTD_createDStream() ?: memory_lacks();
		(void)ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	} else {
		memcpy(u->out, u->in, u->in_end);
		u->out_end = u->in_end;
	}
	return true;
}

static bool step_plain(struct unpack *u, struct err *err) {
	size_t got = 0;
	bool ok = u->in_is_over || read_on(u, u->out + u->out_end, OUT_BYTES - u->out_end, &got, err);
	u->out_end += got;
	u->has_ended = got == 0;
	return ok;
}

static bool step_zstd(struct unpack *u, struct err *err) {
	if (!fill_head(u, err)) {
		return false;
	}
	const size_t n = u->in_end - u->in_at;
	if (u->is_within ? n == 0 : !is_frame(u->in + u->in_at, n)) {
		u->has_ended = true;
		u->is_torn |= u->is_within || n > 0;
		return true;
	}
	ZSTD_inBuffer in = {u->in, u->in_end, u->in_at};
	ZSTD_outBuffer out = {u->out, OUT_BYTES, u->out_end};
	size_t left = ZSTD_decompressStream(u->zstd, &out, &in);
	if (ZSTD_isError(left)) {
		u->has_ended = u->is_torn = true;
		return u->bytes_out > 0 || err_format(err, "zstd: %s", ZSTD_getErrorName(left));
	}
	bool is_stuck = in.pos == u->in_at && out.pos == u->out_end;
	u->in_at = in.pos;
	u->out_end = out.pos;
	u->is_within = left != 0;
	u->has_ended = is_stuck && u->in_is_over;
	u->is_torn |= u->has_ended;
	return !is_stuck || u->has_ended || fill(u, err);
}

/** Get more bytes into `out`, or the end. */
static bool advance(struct unpack *u, struct err *err) {
	size_t out_before = u->out_end;
	if ((!u->has_begun && !begin(u, err)) ||
			!EVERY(u->out_end == out_before && !u->has_ended,
					(u->zstd ? step_zstd : step_plain)(u, err))) {
		return false;
	}
	u->bytes_out += u->out_end - out_before;
	return u->bytes_out <= u->max_bytes ||
			err_limit(err, "decompresses to more than %" PRIu64 " MB, the limit for one file",
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

// ---- opening and closing

struct unpack *unpack_open(const char *path, uint64_t max_bytes, struct err *err) {
	struct unpack *u = memory_new(1, sizeof *u);
	u->max_bytes = max_bytes ? max_bytes : UNPACK_DEFAULT_MAX;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		(void)err_system(err, errno, "cannot be opened");
		unpack_close(u);
		return NULL;
	}
	u->file = gzdopen(fd, "rb") ?: memory_lacks();
	return u;
}

void unpack_close(struct unpack *u) {
	if (!u) {
		return;
	}
	ZSTD_freeDStream(u->zstd);
	(void)gzclose(u->file); // NULL is allowed
	free(u);
}
