// SPDX-License-Identifier: MIT
#pragma once
/**
 * What blocks and slots unpack to, pieces of the log and states.
 *
 * Encoders and decoders are side by side in log.c and state.c.
 */

#include "trace/tables/tables.h"

/** How far the log has been written, and which locations have been given names there. */
struct log_marks {
	struct counts_row counts;
	uint8_t *named; // a bit per location
	size_t named_bytes;
};

/** A piece of the log on its way out: it counts once log_piece_done says so. */
struct log_piece {
	struct counts_row counts; // after it
	VEC(struct name_row) names;
};

/**
 * Encode the next piece of what `r` has and the log has not (bounded; call again until nothing is
 * left). True with an empty `out`: nothing new. False: no memory.
 */
bool log_encode(struct buffer *out, struct log_piece *piece, const struct log_marks *marks,
		const struct recording *r);

/** Room for the marks that `piece` will leave. False: no memory. */
bool log_piece_reserve(struct log_marks *marks, const struct log_piece *piece);

/** The piece is in the file: mark it. There must be room. */
void log_piece_done(struct log_marks *marks, const struct log_piece *piece);

void log_piece_finish(struct log_piece *piece);
void log_marks_finish(struct log_marks *marks);

/** Reading the log into `out`, whose log tables have room for `want` rows. */
struct log_reader {
	struct recording *out;
	struct counts_row want, have;
};

/**
 * Take room for want's rows in r's arena and begin. `log_bytes`: all bytes that the log unpacks to.
 */
bool log_reader_init(struct log_reader *l, struct recording *out, struct counts_row want,
		uint64_t log_bytes, struct err *err);
bool log_decode(struct log_reader *l, struct slice payload, struct err *err);

/** After the last piece: does the log hold all that was wanted? */
bool log_reader_is_done(const struct log_reader *l, struct err *err);

void state_encode(struct buffer *out, const struct recording *r);

/** The state's first table. */
bool state_counts(struct counts_row *out, struct slice payload, struct err *err);

/** The other tables, into r's arena. */
bool state_decode(struct recording *out, struct slice payload, struct err *err);
