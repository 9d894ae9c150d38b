// SPDX-License-Identifier: MIT
#pragma once
/** The records of a file of KDE's heaptrack, as the parts of this room write them. */

#include "export/export.h"

/** An `a` record: a size at a trace. The second of two alike is the twin (intervals.c). */
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
	struct buffer out; // handed on when it is large
	struct err err;    // the first failure
	bool failed;

	// Ordinals in the file, by id of the recording; 0: not written yet
	uint32_t *strings, *locations, *nodes;
	uint32_t n_strings, n_locations, n_nodes;
	VEC(uint32_t) path;             // nodes on the way to the root
	VEC(struct kde_out_info) infos; // 0 stands for none
	struct index info_index;
	struct map live; // blocks by address: what kde_out_free wants of them

	uint64_t time_ms;
	uint32_t next_sample;
	bool has_peak; // of what was resident
};

enum {
	KDE_OUT_NO_INFO = 0,
	KDE_OUT_FIRST = 1, // has number 0 in the file
};

// `o` keeps the first failure of its sink, to which nothing is written after it

/** A record; text or numbers may be none. Hand on what was written. */
void kde_out_line(struct kde_out *o, char kind, struct slice text, const uint64_t *numbers,
		size_t n);

void kde_out_numbers(struct kde_out *o, char kind, const uint64_t *numbers, size_t n);
void kde_out_flush(struct kde_out *o);

static inline uint64_t kde_out_page_bytes(const struct recording *r) {
	return r->meta.page_bytes ? r->meta.page_bytes : 4096;
}

/** `R`: what is resident; or all that was, up to a moment. kde_out_time: `c` as well. */
void kde_out_resident(struct kde_out *o, uint64_t bytes);
void kde_out_samples(struct kde_out *o, uint64_t time_ns);
void kde_out_time(struct kde_out *o, uint64_t time_ns);

/**
 * The number of a size at a stack, or of its twin; interpreted files alone. A number that is new
 * must be that of a `+` at once. kde_out_find: one that was given out, or KDE_OUT_NO_INFO.
 */
uint32_t kde_out_find(const struct kde_out *o, uint32_t node, uint64_t size, bool is_twin);
uint32_t kde_out_info(struct kde_out *o, uint32_t node, uint64_t size, bool is_twin);

/** A block of an info comes, `+`, or goes, `-`. */
void kde_out_block(struct kde_out *o, char kind, uint32_t info);

/**
 * A block comes in either kind of file: with its address, or with the number of its info, of the
 * twin if `is_twin`. Gives what kde_out_free wants of it; 0: it failed.
 */
uint64_t kde_out_alloc(struct kde_out *o, uint64_t size, uint32_t node, uint64_t ptr, bool is_twin);

/** The same in raw files. */
void kde_out_raw_alloc(struct kde_out *o, uint64_t size, uint32_t node, uint64_t ptr);
void kde_out_raw_free(struct kde_out *o, uint64_t ptr);

/** A block goes in either kind of file. `info`: 0: it did not come; in raw files any other. */
void kde_out_free(struct kde_out *o, uint64_t ptr, uint64_t info);

/** The same by the address alone: of what came there; before another comes, its free was missed. */
void kde_out_free_at(struct kde_out *o, uint64_t ptr);
void kde_out_alloc_at(struct kde_out *o, uint64_t size, uint32_t node, uint64_t ptr, bool is_twin);

void kde_out_intervals(struct kde_out *o);
