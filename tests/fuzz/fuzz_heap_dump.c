// SPDX-License-Identifier: MIT
#include "fuzz_decode.h"

FUZZ_DECODER(heap_dump_decode)
