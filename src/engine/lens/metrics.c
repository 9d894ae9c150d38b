// SPDX-License-Identifier: MIT
/* The table of metrics. */
#include "engine/metrics.h"

#include "trace/recording.h"

#define OF_STACK(field, NUMBER) \
	{ #field, offsetof(struct rec_stack, field), REC_##NUMBER }

enum { REC_NONE = 0 }; // no file lacks it

#define METRIC(id, ...) [LENS_##id] = {__VA_ARGS__},
const struct metric lens_metrics[N_LENS_METRICS] = {
#include "engine/lens/metrics.def"
};

const char *const lens_metric_names[N_LENS_METRICS] = {
#define NAME(id, text) [LENS_##id] = text,
		LENS_METRICS(NAME)};

const struct metric_rule_text metric_rule_texts[N_METRIC_RULES] = {
		[METRIC_LIVE_AT_LARGEST] = {"live-at-largest",
				"live at its largest heap, whenever allocated"},
		[METRIC_NEVER_FREED] = {"never-freed",
				"allocated in it and live at the end of the recording"},
		[METRIC_KEPT] = {"kept", "allocated in it and live at its end"},
		[METRIC_MADE] = {"made", "allocated in it"},
		[METRIC_MADE_TEMPORARY] = {"made-temporary", "allocated in it and temporary"},
};

bool metric_is_known(enum lens_metric metric, uint32_t missing) {
	const struct metric *m = &lens_metrics[metric];
	return !(missing & (m->is_counted ? m->blocks.number : m->bytes.number));
}

size_t metrics_of_report(enum lens_metric out[N_LENS_METRICS]) {
	size_t n = 0;
	for (unsigned place = 1; place <= N_LENS_METRICS; place++) {
		EACH_NUMBER(m, N_LENS_METRICS, lens_metrics[m].report.place == place) {
			out[n++] = (enum lens_metric)m;
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
