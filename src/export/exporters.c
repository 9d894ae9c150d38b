// SPDX-License-Identifier: MIT
#include "base/buffer.h"
#include "export/export.h"
#include "export/heaptrack.h"

#include <string.h>

// A further format is a further row.
const struct exporter exporters[] = {
		{"heaptrack", ".heaptrack", "a file that KDE's heaptrack_print and heaptrack_gui open",
				export_heaptrack},
		{"heaptrack-raw", ".raw", "the raw stream that KDE's heaptrack_interpret reads",
				export_heaptrack_raw},
};
const size_t n_exporters = sizeof exporters / sizeof *exporters;

const struct exporter *exporter_find(const char *name, struct err *err) {
	struct buffer names = {0};
	for (size_t i = 0; i < n_exporters; i++) {
		if (strcmp(exporters[i].name, name) == 0) {
			buffer_finish(&names);
			return &exporters[i];
		}
		buffer_printf(&names, "%s%s", i ? ", " : "", exporters[i].name);
	}
	(void)err_set(err, ERR_USAGE, "there is no export \"%s\"; there are: %.*s", name,
			SLICE_ARG(buffer_view(&names)));
	buffer_finish(&names);
	return NULL;
}
