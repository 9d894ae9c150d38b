// SPDX-License-Identifier: MIT
#pragma once
/**
 * The recorder's file (libheaptrack_inject.so), ready to be placed at any address. It has no
 * undefined names, so that placing it only adds the address to some words.
 */

#include "injector/find/functions.h"

struct blob_part {
	uint64_t at, bytes; // from the image's start, whole pages
	int protection;     // PROT_*
};

struct blob {
	uint8_t *bytes; // the image, as it lies in memory
	size_t n_bytes; // whole pages
	struct blob_part parts[8];
	unsigned n_parts;
	uint64_t text_at, text_bytes;
	uint64_t data_at, data_bytes; // the writable part
	uint64_t frames_at;           // unwind tables
	uint64_t begin_at, errand_at; // functions
	uint64_t stub_at, stub_allocates_at, stub_frees_at, stub_calls_at;
	uint64_t resident_at, has_tids_at, threads_at, thread_caches_at;
	uint8_t id[32]; // build-id
	struct buffer file;
	struct elf_image image; // of `file`
};

bool blob_open(struct blob *b, const char *path, struct err *err);

/**
 * Make the image one for address `at`. False: a relocation does more than add an address, so there
 * is something to link; never for a blob that blob_open placed.
 */
bool blob_place(struct blob *b, uint64_t address);

void blob_close(struct blob *b);

// ---- unwind tables, made from code that has none, such as musl's and hand-written startup code

/**
 * Add records as of .eh_frame, for modules whose allocation functions or whose startup code no
 * table covers, ended by a record of length 0. Without such code nothing is added.
 */
void frames_make(struct buffer *out, const struct modules_code *modules,
		const struct found_functions *functions);
