// SPDX-License-Identifier: MIT
/* The table of metrics. */
#include "engine/metrics.h"

#include "trace/recording.h"

#define OF_STACK(field, NUMBER) \
	{ #field, offsetof(struct rec_stack, field), REC_##NUMBER }

const struct metric lens_metrics[N_LENS_METRICS] = {
		[LENS_PEAK] =
				{
						.rule = METRIC_LIVE_AT_LARGEST,
						.bytes = OF_STACK(peak_bytes, PEAK_BYTES),
						.blocks = OF_STACK(peak_blocks, PEAK_BLOCKS),
						.help = "Bytes alive at the moment the heap was largest (in the range)",
						.title = "peak",
						.share = "peak",
						.unit = "blocks",
						.report = {1, "PEAK, by your functions", "blocks"},
						.compared = "PEAK",
						.page = {'p', "What the heap holds at its peak", "Peak, by your functions",
								false},
				},
		[LENS_NEVER_FREED] =
				{
						.rule = METRIC_NEVER_FREED,
						.bytes = OF_STACK(live_bytes, LIVE_BYTES),
						.blocks = OF_STACK(live_blocks, LIVE_BLOCKS),
						.help = "Still allocated at the end of the recording. What is called a "
								"leak may be in it",
						.title = "never freed",
						.share = "never freed",
						.unit = "blocks",
						.report = {2, "NEVER FREED", "blocks"},
						.compared = "NEVER FREED",
						.page = {'n', "What was never freed", "Never freed, by your functions",
								false},
				},
		[LENS_KEPT] =
				{
						.rule = METRIC_KEPT,
						.bytes = OF_STACK(live_bytes, LIVE_BYTES),
						.blocks = OF_STACK(live_blocks, LIVE_BLOCKS),
						.help = "Allocated in the selected range and alive at its end",
						.title = "kept",
						.share = "kept",
						.unit = "blocks",
						.page = {'k', "What the range keeps", NULL, true},
				},
		[LENS_ALLOCATIONS] =
				{
						.is_counted = true,
						.rule = METRIC_MADE,
						.bytes = OF_STACK(allocated_bytes, ALLOCATED_BYTES),
						.blocks = OF_STACK(allocations, ALLOCATIONS),
						.help = "Calls that handed out a block",
						.title = "allocations",
						.share = "allocations",
						.unit = "blocks",
						.report = {4, "ALLOCATIONS", "calls"},
						.compared = "ALLOCATIONS",
						.page = {'a', "Who allocates most often", "Allocations", false},
				},
		[LENS_BYTES] =
				{
						.rule = METRIC_MADE,
						.bytes = OF_STACK(allocated_bytes, ALLOCATED_BYTES),
						.blocks = OF_STACK(allocations, ALLOCATIONS),
						.help = "The sum of the sizes of all allocations",
						.title = "allocated bytes",
						.share = "allocated",
						.unit = "blocks",
						.page = {'y', "Who allocates most bytes", NULL, false},
				},
		[LENS_TEMPORARY] =
				{
						.is_counted = true,
						.rule = METRIC_MADE_TEMPORARY,
						.bytes = OF_STACK(temporary_bytes, TEMPORARY),
						.blocks = OF_STACK(temporary, TEMPORARY),
						.help = "Freed before the same thread allocated again",
						.title = "temporary",
						.share = "temporary",
						.unit = "temporary",
						.report = {3, "TEMPORARY: freed before their thread's next allocation",
								"temporary"},
						.compared = "TEMPORARY",
						.page = {'t', "Who makes temporary allocations", "Temporary allocations",
								false},
				},
};

const char *const lens_metric_names[N_LENS_METRICS] = {
#define NAME(id, text) [LENS_##id] = text,
		LENS_METRICS(NAME)
#undef NAME
};

const struct metric_rule_text metric_rule_texts[N_METRIC_RULES] = {
		[METRIC_LIVE_AT_LARGEST] = {"live-at-largest",
				"live at its largest heap, whenever allocated"},
		[METRIC_NEVER_FREED] = {"never-freed",
				"allocated in it and live at the end of the recording"},
		[METRIC_KEPT] = {"kept", "allocated in it and live at its end"},
		[METRIC_MADE] = {"made", "allocated in it"},
		[METRIC_MADE_TEMPORARY] = {"made-temporary", "allocated in it and temporary"},
};

size_t metrics_of_report(enum lens_metric out[N_LENS_METRICS]) {
	size_t n = 0;
	for (unsigned place = 1; place <= N_LENS_METRICS; place++) {
		for (enum lens_metric m = 0; m < N_LENS_METRICS; m++) {
			if (lens_metrics[m].report.place == place) {
				out[n++] = m;
			}
		}
	}
	return n;
}

const char *metric_json_key(char out[METRIC_KEY_MAX], enum lens_metric metric) {
	(void)snprintf(out, METRIC_KEY_MAX, "%s", lens_metric_names[metric]);
	for (char *c = out; *c; c++) {
		*c = *c == '-' ? '_' : *c;
	}
	return out;
}
