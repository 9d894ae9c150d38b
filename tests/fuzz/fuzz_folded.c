// SPDX-License-Identifier: MIT
#include "fuzz_decode.h"

static bool decode(struct profile_maker *m, struct slice in, struct err *err) {
	(void)folded_knows(in);
	return folded_decode(m, in, err);
}

FUZZ_DECODER(decode)
