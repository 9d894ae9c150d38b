// SPDX-License-Identifier: MIT
#include "symbols/files/debuginfod.h"

// For the program that is linked statically (packaging/), which can load nothing

bool debuginfod_open(struct mapped_file *out, struct slice build_id, struct err *err) {
	(void)out;
	(void)build_id;
	return err_set(err, ERR_UNSUPPORTED, "this heaptrack cannot load libdebuginfod.so.1");
}
