// SPDX-License-Identifier: MIT
#include "fuzz_decode.h"

static bool decode(struct profile *out, struct slice in, struct arena *arena, struct err *err) {
	(void)folded_knows(in);
	return folded_decode(out, in, PROFILE_PEAK_BYTES, arena, err);
}

FUZZ_DECODER(decode)
