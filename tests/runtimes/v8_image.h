// SPDX-License-Identifier: MIT
#pragma once
/**
 * Images of a node's memory that tests/runtimes/record.py made, as text:
 *
 *   s SYMBOL VALUE    b N HEX    o N HEX       what the binary tells; sizes of bytecodes, operands
 *   i ADDRESS ADDRESS                          where the interpreter goes on after a call
 *   f PC MARKER FUNCTION ARRAY OFFSET BUILTIN  a frame, in hexadecimal; BUILTIN: an address of the binary
 *   x FUNCTION \t FILE \t LINE                 what was decoded of it: one line or more
 *   m ADDRESS HEX                              64 bytes of memory, from here on
 *   t FUNCTION \t FILE \t LINE                 what Error's stack had, but for builtins
 *   z                                          the end of a stop
 */

#include "v8_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { IMAGE_GRANULE = 64 };

struct image_text {
	const char *function, *file;
	size_t function_bytes, file_bytes;
	uint32_t line;
};

struct image_frame {
	struct v8_frame frame;
	uint32_t first_text, n_texts;
};

struct image_granule {
	uint64_t at;
	uint8_t bytes[IMAGE_GRANULE];
};

struct image {
	struct v8_layout symbols;
	struct v8_layout layout;        // the tables; the rest comes of the symbols
	struct image_granule *granules; // sorted by address
	size_t n_granules;
	struct image_frame frames[512]; // of the stop at hand
	size_t n_frames;
	struct image_text texts[1024], truths[1024];
	size_t n_texts, n_truths;
};

static size_t image_place(const struct image *m, uint64_t at) {
	size_t low = 0, high = m->n_granules;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (m->granules[middle].at < at) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static bool image_read(void *context, uint64_t address, void *out, size_t n) {
	const struct image *m = context;
	for (size_t done = 0; done < n;) {
		uint64_t at = (address + done) / IMAGE_GRANULE * IMAGE_GRANULE;
		size_t place = image_place(m, at);
		if (place == m->n_granules || m->granules[place].at != at) {
			return false;
		}
		size_t from = (size_t)(address + done - at);
		size_t some = n - done < IMAGE_GRANULE - from ? n - done : IMAGE_GRANULE - from;
		memcpy((uint8_t *)out + done, m->granules[place].bytes + from, some);
		done += some;
	}
	return true;
}

static size_t image_hex(const char *text, uint8_t *out, size_t max) {
	size_t n = 0;
	for (unsigned byte; n < max && sscanf(text + 2 * n, "%2x", &byte) == 1; n++) {
		out[n] = (uint8_t)byte;
	}
	return n;
}

static void image_memory(struct image *m, uint64_t at, const char *hex) {
	size_t place = image_place(m, at);
	if (place == m->n_granules || m->granules[place].at != at) {
		if ((m->n_granules & (m->n_granules - 1)) == 0) {
			m->granules = realloc(m->granules, (2 * m->n_granules + 1) * sizeof *m->granules);
		}
		memmove(m->granules + place + 1, m->granules + place,
				(m->n_granules++ - place) * sizeof *m->granules);
		m->granules[place].at = at;
	}
	(void)image_hex(hex, m->granules[place].bytes, IMAGE_GRANULE);
}

static struct image_text image_text(const char *line) {
	size_t function = strcspn(line, "\t");
	const char *file = line + function + 1;
	size_t bytes = strcspn(file, "\t");
	return (struct image_text){line, file, function, bytes,
			(uint32_t)strtoul(file + bytes + 1, NULL, 10)};
}

/** Takes a line, without its end, that lives as long as the image. True at the end of a stop. */
static bool image_line(struct image *m, const char *line) {
	struct v8_frame f;
	char symbol[160];
	uint64_t at;
	int place = 0, value;
	uint8_t bytes[3 * 256];
	if (sscanf(line, "s %159s %d", symbol, &value) == 2) {
		v8_symbols_add(&m->symbols, symbol, value);
	} else if (sscanf(line, "b %d %n", &value, &place) == 1 && place) {
		m->layout.n_bytecodes = (uint32_t)value;
		for (size_t i = 0, n = image_hex(line + place, bytes, sizeof bytes); i < n; i++) {
			m->layout.bytecode_bytes[i / (size_t)value][i % (size_t)value] = bytes[i];
		}
	} else if (sscanf(line, "o %d %n", &value, &place) == 1 && place) {
		m->layout.n_opcodes = (uint32_t)image_hex(line + place, m->layout.operands,
				sizeof m->layout.operands);
	} else if (sscanf(line, "i %" SCNx64 " %" SCNx64, &m->layout.interpreter[0],
					   &m->layout.interpreter[1]) == 2) {
	} else if (sscanf(line, "m %" SCNx64 " %n", &at, &place) == 1 && place) {
		image_memory(m, at, line + place);
	} else if (sscanf(line,
					   "f %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
					   &f.pc, &f.marker, &f.function, &f.bytecode_array, &f.bytecode_offset,
					   &f.builtin) == 6) {
		m->frames[m->n_frames++] = (struct image_frame){f, (uint32_t)m->n_texts, 0};
	} else if (strncmp(line, "x ", 2) == 0) {
		m->frames[m->n_frames - 1].n_texts++;
		m->texts[m->n_texts++] = image_text(line + 2);
	} else if (strncmp(line, "t ", 2) == 0) {
		m->truths[m->n_truths++] = image_text(line + 2);
	}
	return strcmp(line, "z") == 0;
}

/** Forgets the frames of a stop; memory stays. */
static void image_next_stop(struct image *m) {
	m->n_frames = m->n_texts = m->n_truths = 0;
}
