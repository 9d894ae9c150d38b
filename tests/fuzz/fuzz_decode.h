// SPDX-License-Identifier: MIT
#pragma once

// What every fuzzer of a foreign file does with one: decode it within bounds, hold the decoder to its
// word, make a recording of it, and write what was read as another format does

#include "base/err.h"
#include "formats/formats.h"
#include "session/import/importer.h"

enum { FUZZ_MAX_BYTES = 64 << 20 };

static inline void fuzz_check_profile(const struct profile *p) {
	check(p->strings.n && p->mappings.n && p->frames.n && p->nodes.n);
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		check(p->nodes.items[i].parent < i && p->nodes.items[i].frame < p->frames.n);
	}
	for (uint32_t i = 0; i < p->frames.n; i++) {
		const struct profile_frame *f = &p->frames.items[i];
		check(f->function < p->strings.n && f->file < p->strings.n && f->symbol < p->strings.n);
		check(f->mapping < p->mappings.n);
	}
	for (uint32_t i = 0; i < p->samples.n; i++) {
		check(p->samples.items[i].node < p->nodes.n);
	}
	for (uint32_t i = 1; i < p->moments.n; i++) {
		check(p->moments.items[i - 1].time_ns <= p->moments.items[i].time_ns);
	}
}

static inline void fuzz_decode(struct slice bytes, profile_decoder *decode) {
	struct recording r = {.arena = {.max_bytes = FUZZ_MAX_BYTES}};
	struct profile p;
	struct err err = {0};
	if (profile_decode(decode, &p, bytes, &r.arena, &err)) {
		fuzz_check_profile(&p);
		struct buffer out = {0};
		static const struct write_options options = {PROFILE_LIVE_BYTES, {1, false, 1}};
		check(pprof_encode(&out, &p, &options, NULL) || out.failed);
		buffer_clear(&out);
		struct err refused = {0};
		check(massif_encode(&out, &p, &options, &refused) || refused.code != ERR_NONE);
		buffer_finish(&out);
		if (recording_of_profile(&r, &p, NULL)) {
			struct err why = {0};
			// Numbers of over 64 bits are refused here; all else was made to agree
			check(recording_is_valid(&r, &why) || why.code != ERR_NONE);
		}
	} else {
		check(err.code != ERR_NONE && err.text[0]);
	}
	check(r.arena.bytes <= FUZZ_MAX_BYTES);
	recording_finish(&r);
}

#define FUZZ_DECODER(decode)                                       \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);  \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { \
		fuzz_decode(slice_of(data, size), decode);                 \
		return 0;                                                  \
	}
