// SPDX-License-Identifier: MIT
#pragma once
/**
 * A file that is written sequentially and compressed according to its name: .zst, .gz, or not at
 * all. It gets its name only when it is complete; until then it is a temporary file in the same
 * folder.
 */

#include "base/base.h"

struct packer;

/** "-" is stdout, as it is. `is_plain`: whatever the name. NULL: `err` says what and why. */
struct packer *packer_open(const char *path, bool is_plain, struct err *err);

bool packer_write(struct packer *p, struct slice bytes, struct err *err);

/** The file is whole: give it its name, and close. False: there is no such file, `p` is gone. */
bool packer_finish(struct packer *p, struct err *err);

/** Give up: nothing is left. NULL is fine. */
void packer_cancel(struct packer *p);

/** All of it at once: a whole file, or none. */
bool packer_put(const char *path, bool is_plain, struct slice bytes, struct err *err);
