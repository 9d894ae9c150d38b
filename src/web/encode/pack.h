// SPDX-License-Identifier: MIT
#pragma once
/** Packs bytes as browsers unpack them without help: raw deflate, and base64 for text. */

#include "base/base.h"

/** Append `raw`, deflated without header or checksum: level 0 (as it is) to 9 (slow and small). */
bool pack_deflate(struct buffer *out, struct slice raw, int level, struct err *err);

void pack_base64(struct buffer *out, struct slice raw);
