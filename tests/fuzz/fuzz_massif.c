// SPDX-License-Identifier: MIT
#include "fuzz_decode.h"

FUZZ_DECODER(massif_decode)
