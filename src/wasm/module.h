// SPDX-License-Identifier: MIT
#pragma once
/** What the module's files know of each other, and what the page does for them. */

#include "base/base.h"

/** The file as it was handed over. */
struct module_file {
	const char *name;
	struct slice bytes;
};
extern struct module_file module_file;

/** Unpack one zstd frame to exactly `room` bytes. False: it is damaged. */
__attribute__((import_module("page"), import_name("unzstd"))) bool host_unzstd(void *out,
		size_t room, const void *in, size_t n);

/** Seconds that the reader's clock was ahead of UTC at that moment, in seconds since 1970. */
__attribute__((import_module("page"), import_name("clockOffset"))) int host_clock_offset_s(
		double at_s);

/** The next bytes of the file, unpacked if it is packed: at most `room`; 0 at the end. */
__attribute__((import_module("page"), import_name("next"))) size_t host_next(void *out,
		size_t room);

/** Could the file not be unpacked to its end? */
__attribute__((import_module("page"), import_name("isTorn"))) bool host_is_torn(void);
