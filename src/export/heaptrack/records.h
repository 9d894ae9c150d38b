// SPDX-License-Identifier: MIT
#pragma once
/** Writes the records of a KDE heaptrack file. */

#include "export/export.h"

/** An `a` record: a size at a trace. The second of two equal ones is the twin (intervals.c). */
struct kde_out_info {
	uint64_t size;
	uint32_t node;
	bool is_twin;
};

struct kde_out {
	const struct export_request *request;
	const struct export_sink *sink;
	const struct recording *r;
	bool is_raw;
	struct buffer out; // passed on when large
	struct err err;    // the first failure
	bool failed;

	// Ordinals in the file, by id in the recording; 0: not written yet
	uint32_t *strings, *locations, *nodes;
	uint32_t n_strings, n_locations, n_nodes;
	VEC(uint32_t) path;             // nodes up to the root
	VEC(struct kde_out_info) infos; // 0 is none
	struct index info_index;
	struct map live; // blocks by address, with their `info` for kde_out_free

	uint64_t time_ms;
	uint32_t next_sample;
	bool has_peak; // of resident memory
};

enum {
	KDE_OUT_NO_INFO = 0,
	KDE_OUT_FIRST = 1, // has number 0 in the file
};

// `o` keeps the first failure of its sink; nothing is written after it

/** Write a record; text and numbers may be empty. kde_out_flush: pass on what was written. */
void kde_out_line(struct kde_out *o, char kind, struct slice text, const uint64_t *numbers,
		size_t n);

void kde_out_numbers(struct kde_out *o, char kind, const uint64_t *numbers, size_t n);
void kde_out_flush(struct kde_out *o);

static inline uint64_t kde_out_page_bytes(const struct recording *r) {
	return r->meta.page_bytes ? r->meta.page_bytes : 4096;
}

/** `R`: resident bytes; or all samples up to a moment. kde_out_time: also `c`. */
void kde_out_resident(struct kde_out *o, uint64_t bytes);
void kde_out_samples(struct kde_out *o, uint64_t time_ns);
void kde_out_time(struct kde_out *o, uint64_t time_ns);

/**
 * The number of a size at a stack, or of its twin; only for interpreted files. A new number must be
 * used by a `+` at once. kde_out_find: an existing one, or KDE_OUT_NO_INFO.
 */
uint32_t kde_out_find(const struct kde_out *o, uint32_t node, uint64_t size, bool is_twin);
uint32_t kde_out_info(struct kde_out *o, uint32_t node, uint64_t size, bool is_twin);

/** A block of an info comes (`+`) or goes (`-`). */
void kde_out_block(struct kde_out *o, char kind, uint32_t info);

/**
 * A block comes, in either kind of file: with its address, or its info's number (the twin's if
 * `is_twin`). Returns the `info` for kde_out_free; 0: failed.
 */
uint64_t kde_out_alloc(struct kde_out *o, uint64_t size, uint32_t node, uint64_t ptr, bool is_twin);

/** The same in raw files. */
void kde_out_raw_alloc(struct kde_out *o, uint64_t size, uint32_t node, uint64_t ptr);
void kde_out_raw_free(struct kde_out *o, uint64_t ptr);

/** A block goes, in either kind of file. `info`: 0: it did not come; any other in raw files. */
void kde_out_free(struct kde_out *o, uint64_t ptr, uint64_t info);

/** By address alone; if a block comes to a used one, a free was missed. */
void kde_out_free_at(struct kde_out *o, uint64_t ptr);
void kde_out_alloc_at(struct kde_out *o, uint64_t size, uint32_t node, uint64_t ptr, bool is_twin);

void kde_out_intervals(struct kde_out *o);
