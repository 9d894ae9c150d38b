// SPDX-License-Identifier: MIT
#include "base/buffer.h"
#include "export/export.h"
#include "export/heaptrack/heaptrack.h"
#include "export/others.h"

#include <string.h>

// A further format is a further row.
const struct exporter exporters[] = {
		{"heaptrack", ".heaptrack", "a file that KDE's heaptrack_print and heaptrack_gui open",
				export_heaptrack},
		{"heaptrack-raw", ".raw", "the raw stream that KDE's heaptrack_interpret reads",
				export_heaptrack_raw},
		{"pprof", ".pb.gz", "profile.proto: go tool pprof, Grafana Pyroscope, Speedscope",
				export_pprof},
		{"folded", ".folded", "collapsed stacks by the lens's metric: flamegraph.pl, inferno",
				export_folded},
		{"speedscope", ".speedscope.json", "https://www.speedscope.app", export_speedscope},
		{"firefox", ".json.gz", "https://profiler.firefox.com, with retained memory per range",
				export_firefox},
		{"massif", ".massif", "ms_print, massif-visualizer", export_massif},
		{"dhat", ".dhat.json", "valgrind's dh_view.html", export_dhat},
		{"callgrind", ".callgrind", "KCachegrind, callgrind_annotate", export_callgrind},
		{"csv", ".csv", "a line per stack, for spreadsheets", export_csv},
		{"json", ".json", "all stacks with all numbers, for programs", export_json},
		{"histogram", ".txt", "sizes of blocks and how many were allocated", export_histogram},
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
	(void)err_set(err, ERR_USAGE, "unknown export \"%s\"; use one of: %.*s", name,
			SLICE_ARG(buffer_view(&names)));
	buffer_finish(&names);
	return NULL;
}
