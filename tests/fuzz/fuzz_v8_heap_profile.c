// SPDX-License-Identifier: MIT
#include "fuzz_decode.h"

FUZZ_DECODER(v8_heap_profile_decode)
