// SPDX-License-Identifier: MIT
#pragma once

/** Lines of source around the sites that cost most. */

#include "web/encode/columns.h"

/** Append the table of them. False: no memory. */
bool sources_write(const struct columns *c, struct buffer *out);
