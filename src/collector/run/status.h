// SPDX-License-Identifier: MIT
#pragma once

#include "base/buffer.h"

/** The answer to `status`: what is recorded, as far as it is known without looking (docs/control.md). */
void status_put(void *run, struct buffer *out);
