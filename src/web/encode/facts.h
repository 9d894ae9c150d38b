// SPDX-License-Identifier: MIT
#pragma once

/** What the page says beside its tables: the first section of the blob. */

#include "engine/names.h"
#include "web/blob.h"

/** Append one JSON object; docs/page-format.md names its fields. False: `err` says why. */
bool facts_write(struct buffer *out, const struct recording *r, const struct names *n,
		const struct blob_options *options, uint32_t n_merged, struct err *err);
