// SPDX-License-Identifier: MIT
#pragma once
/**
 * The metrics by which a stack, a frame or a group is weighed. Lens, reports, JSON, gates, exports,
 * manuals and the page use these lists and know no other metrics. A new one takes a line here and a
 * row in lens/metrics.def; if it counts in a new way, also a rule in lens/scan.c or lens.c and in
 * web/src/data/query.ts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** METRIC(ID, name in a lens), in the order of lists. */
#define LENS_METRICS(METRIC)           \
	METRIC(PEAK, "peak")               \
	METRIC(NEVER_FREED, "never-freed") \
	METRIC(KEPT, "kept")               \
	METRIC(ALLOCATIONS, "allocations") \
	METRIC(BYTES, "bytes")             \
	METRIC(TEMPORARY, "temporary")     \
	METRIC(MAPPED, "mapped")           \
	METRIC(UNMAPPED, "never-unmapped") \
	METRIC(RESIDENT, "resident")       \
	METRIC(UNTOUCHED, "untouched")     \
	METRIC(GRADED, "graded")           \
	METRIC(UNREACHABLE, "unreachable") \
	METRIC(HELD, "held")

/** GATE(ID, name, metric, counts bytes, may be a share of allocations, start of its sentence). */
#define METRIC_GATES(GATE)                                                         \
	GATE(PEAK, "peak", PEAK, true, false, "the peak is")                           \
	GATE(NEVER_FREED, "never-freed", NEVER_FREED, true, false, "never freed are")  \
	GATE(NEVER_FREED_BLOCKS, "never-freed-blocks", NEVER_FREED, false, true,       \
			"blocks never freed:")                                                 \
	GATE(ALLOCATIONS, "allocations", ALLOCATIONS, false, false, "allocations:")    \
	GATE(ALLOCATED, "allocated", BYTES, true, false, "allocated are")              \
	GATE(TEMPORARY, "temporary", TEMPORARY, false, true, "temporary allocations:") \
	GATE(UNREACHABLE, "unreachable", UNREACHABLE, true, false, "unreachable are")  \
	GATE(UNREACHABLE_BLOCKS, "unreachable-blocks", UNREACHABLE, false, false, "unreachable blocks:")

/** For the texts of options: each name after a space. */
#define METRIC_NAME(id, name, ...) " " name
#define METRIC_NAMES_TEXT          LENS_METRICS(METRIC_NAME)

enum lens_metric {
#define METRIC_ID(id, name) LENS_##id,
	LENS_METRICS(METRIC_ID)
#undef METRIC_ID
			N_LENS_METRICS,
};

/** Which blocks of a range count. */
enum metric_rule {
	METRIC_LIVE_AT_LARGEST, // live at the largest heap of the range, whenever allocated
	METRIC_NEVER_FREED,     // allocated in the range, live at the end of the recording
	METRIC_KEPT,            // allocated in the range, live at its end
	METRIC_MADE,            // allocated in the range
	METRIC_MADE_TEMPORARY,  // allocated in the range, and temporary
	N_METRIC_RULES,
};

/** What is counted. For anything but blocks, memory_as_recording() makes the stacks. */
enum metric_of {
	METRIC_OF_BLOCKS,
	METRIC_OF_MAPPINGS,
	METRIC_OF_RESIDENT,
	METRIC_OF_ABSENT,
	METRIC_OF_GRADED,
	METRIC_OF_UNREACHABLE,
	METRIC_OF_HELD,
};

/** A field of struct rec_stack, a uint64_t. */
struct metric_field {
	const char *name;
	size_t at;
	uint32_t number; // enum rec_number: where that is missing, the field is not known
};

struct metric {
	bool is_counted;                   // ranks by blocks instead of bytes
	uint8_t of;                        // enum metric_of; only views know those not of blocks
	enum metric_rule rule;             // over a range
	struct metric_field bytes, blocks; // over the whole recording
	const char *help;                  // one sentence without its full stop

	const char *title; // of what is listed
	const char *share; // "% of" what
	const char *unit;  // what the blocks of a list are
	struct {
		unsigned place; // 1: the report's first table, and its list in JSON's sites; 0: not there
		const char *title, *unit; // unit: what its last column counts
	} report;
	const char *compared; // title in a comparison; NULL: not compared
	struct {
		char key; // that selects it; 0: none
		const char *heading;
		const char *table; // title of its table, in the report's order; NULL: none
		bool is_of_ranges; // offered where a range is selected
	} page;
};

extern const struct metric lens_metrics[N_LENS_METRICS];

/** Does a file have it that lacks these numbers (recording.missing)? */
bool metric_is_known(enum lens_metric metric, uint32_t missing);

/** "peak", "never-freed" ..., as in the text of a lens. */
extern const char *const lens_metric_names[N_LENS_METRICS];

/** A rule for programs ("live-at-largest") and for people. */
extern const struct metric_rule_text { const char *name, *help; } metric_rule_texts[N_METRIC_RULES];

/** The metrics of the report, in its order, and how many. */
size_t metrics_of_report(enum lens_metric out[N_LENS_METRICS]);

/** The key in JSON: the name with '_' for '-'. */
enum { METRIC_KEY_MAX = 32 };
const char *metric_json_key(char out[METRIC_KEY_MAX], enum lens_metric metric);
