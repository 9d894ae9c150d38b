// SPDX-License-Identifier: MIT
#pragma once
/**
 * The vocabulary of all other folders: texts and bytes, JSON, growing arrays and indexes, arenas,
 * errors, human-readable numbers, and the C library's headers that go with them. Headers include it
 * if they need any of it; sources get it from the headers that they include.
 */

#include "base/index.h"
#include "base/json.h"
#include "base/text.h"
#include "base/visible.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
