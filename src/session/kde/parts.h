// SPDX-License-Identifier: MIT
#pragma once
/** A file of KDE's heaptrack on its way into a recording. */

#include "engine/feed.h"
#include "formats/heaptrack.h"
#include "session/import/importer.h"

enum { KDE_SAMPLES = 8192, KDE_NO_BLOCK = 0 };

/** An `a` record: a size and a stack, and the newest of its live blocks. */
struct kde_info {
	uint64_t size;
	uint32_t node;
	uint32_t newest; // block, or KDE_NO_BLOCK
	uint32_t same;   // the first info with this size and stack: its blocks are those of all
};

/** A range of addresses of a module, as raw files list them. */
struct kde_range {
	uint64_t start, end;
	uint32_t module;
};

struct kde_import {
	struct import *import;
	struct recording *out;
	struct heaptrack_reader reader;
	bool is_raw;
	bool has_events;

	// Growing tables of the recording. Ids are the file's ordinals (strings, ips, traces), from 1
	VEC(struct slice) strings;
	VEC(struct rec_module) modules;
	VEC(struct rec_location) locations;
	VEC(struct rec_frame) frames;
	VEC(struct rec_node) nodes;
	VEC(struct rec_sample) samples;
	VEC(uint32_t) module_of_string;
	struct slice command, exe;

	// Raw files only
	VEC(struct kde_range) ranges; // of the modules loaded now
	struct index location_index;  // by address and module

	// Events. In interpreted files each block gets an address; an info's newest one is freed first
	VEC(struct kde_info) infos;
	struct index info_index;  // by size and stack
	uint64_t last_ptr;        // format 0: address of the last event, if it was a `+`; else 0
	uint32_t last_info;       // the same for its info, as KDE's tools count it
	VEC(uint32_t) next_block; // of the same info, or among the unused ones
	uint32_t unused_block;
	struct feed feed;
	uint64_t live_bytes;         // now
	uint64_t time_ms, sample_ms; // sample_ms: the least time between two kept samples
	uint64_t peak_rss_bytes, peak_rss_ms;
};

/** Take a record of code: s i t m. False: it takes more than max_bytes, or there are too many. */
bool kde_code(struct kde_import *k, const struct heaptrack_record *r, struct err *err);

/** Take a record of events: a + - c R A. False: there are too many. */
bool kde_event(struct kde_import *k, const struct heaptrack_record *r, struct err *err);
bool kde_events(void *user, const struct heaptrack_event *events, size_t n, struct err *err);

/** For the events of a file: nearly every size is told apart, as in the file. */
struct aggregate *kde_aggregate(void);

/** Move the tables of code, now complete, into the recording. */
bool kde_put_code(struct kde_import *k, struct err *err);
