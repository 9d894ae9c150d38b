// SPDX-License-Identifier: MIT
/* Refuses to ask a debuginfod server: a statically linked program can load no library. */
#include "symbols/files/files.h"

bool debuginfod_open(struct mapped_file *out, struct slice build_id, struct err *err) {
	(void)out;
	(void)build_id;
	return err_set(err, ERR_UNSUPPORTED, "this heaptrack cannot load libdebuginfod.so.1");
}
