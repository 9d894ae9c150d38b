// SPDX-License-Identifier: MIT
#pragma once

/**
 * A file written from its beginning to its end, packed as its name says: .zst, .gz, or as it is.
 * The file takes its name only when it is whole: before, it is a temporary one beside it.
 */

#include "base/err.h"
#include "base/slice.h"

struct packer;

/** "-" is stdout, as it is. NULL: `err` says what and why. */
struct packer *packer_open(const char *path, struct err *err);

/** The same, written as it is whatever its name: the bytes are packed already. */
struct packer *packer_open_plain(const char *path, struct err *err);

bool packer_write(struct packer *p, struct slice bytes, struct err *err);

/** The file is whole: give it its name, and close. False: there is no such file, `p` is gone. */
bool packer_finish(struct packer *p, struct err *err);

/** Give up: nothing is left. NULL is fine. */
void packer_cancel(struct packer *p);
