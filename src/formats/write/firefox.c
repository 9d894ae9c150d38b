// SPDX-License-Identifier: MIT
/*
 * Writes the processed format of the Firefox Profiler, version 48: tables of columns in a thread,
 * and a table of native allocations. If the profile knows lives, each group of blocks that came and
 * went together is an allocation and a later deallocation of one address, so that the profiler can
 * show what a selected range retained. Otherwise every stack is one allocation of what it held. A
 * comparison has a second thread for the base. Times are ms. Libraries, functions and native
 * symbols are columns of ids, -1 or null for none.
 */
#include "formats/write/text.h"

struct document {
	struct json j;
	const struct profile *p;
	struct arena scratch;
	struct profile_functions functions;
	const struct event *events; // of the current thread
};

struct event {
	uint64_t time_ns;
	int64_t bytes;
	uint32_t node, address;
};

/** A column of a table: numbers, negative ones meaning null, or the same JSON in every row. */
struct column {
	const char *key;
	int64_t (*get)(const struct document *d, uint32_t i);
	const char *same;
	bool is_signed; // negative ones are valid
};

static void put_same(struct document *d, const char *key, uint32_t n, const char *item) {
	JSON_LIST(&d->j, key);
	for (uint32_t i = 0; i < n; i++) {
		json_raw(&d->j, slice_of_text(item));
	}
}

static void put_column(struct document *d, const struct column *c, uint32_t first, uint32_t n) {
	JSON_LIST(&d->j, c->key);
	for (uint32_t i = first; i < n; i++) {
		int64_t v = c->get(d, i);
		if (v < 0 && !c->is_signed) {
			json_null(&d->j, NULL);
		} else {
			json_signed(&d->j, NULL, v);
		}
	}
}

/** Rows first .. n - 1. The list of columns ends without a key. */
static void put_table(struct document *d, const char *key, uint32_t first, uint32_t n,
		const struct column *columns) {
	JSON_OBJECT(&d->j, key);
	json_number(&d->j, "length", n - first);
	for (const struct column *c = columns; c->key; c++) {
		if (c->get) {
			put_column(d, c, first, n);
		} else {
			put_same(d, c->key, n - first, c->same);
		}
	}
}

static const struct profile_frame *of_function(const struct document *d, uint32_t i) {
	return &d->p->frames.items[d->functions.frame[i]];
}

/** A column's number in row `i`. */
#define COLUMN(name, number)                                    \
	static int64_t name(const struct document *d, uint32_t i) { \
		(void)d; /* of a column that only counts */             \
		return (int64_t)(number);                               \
	}

COLUMN(stack_frame, (int64_t)d->p->nodes.items[i].frame - 1)
COLUMN(stack_prefix, (int64_t)d->p->nodes.items[i].parent - 1)
COLUMN(frame_function_id, d->functions.of_frame[i] - 1)
COLUMN(frame_line, d->p->frames.items[i].line ? (int64_t)d->p->frames.items[i].line : -1)
// Frames only know whether they are inlined, not how deep
COLUMN(frame_inline_depth, d->p->frames.items[i].is_inlined)
COLUMN(function_name, of_function(d, i)->function)
COLUMN(function_file, of_function(d, i)->file ? (int64_t)of_function(d, i)->file : -1)
COLUMN(function_resource, (int64_t)of_function(d, i)->mapping - 1)
COLUMN(resource_lib, (int64_t)i - 1)
COLUMN(resource_name, d->p->mappings.items[i].path)
COLUMN(event_bytes, d->events[i].bytes)
COLUMN(event_stack, (int64_t)d->events[i].node - 1)
COLUMN(event_address, d->events[i].address)

static int64_t frame_address(const struct document *d, uint32_t i) {
	const struct profile_frame *f = &d->p->frames.items[i];
	uint64_t start = d->p->mappings.items[f->mapping].start;
	uint64_t offset = d->p->mappings.items[f->mapping].file_offset;
	return f->address >= start ? (int64_t)((f->address - start + offset) & INT64_MAX >> 11) : 0;
}

static void put_tables(struct document *d) {
	static const struct column stacks[] = {{"frame", .get = stack_frame},
			{"prefix", .get = stack_prefix}, {"category", .same = "0"},
			{"subcategory", .same = "0"}, {0}};
	static const struct column frames[] = {{"address", .get = frame_address},
			{"inlineDepth", .get = frame_inline_depth}, {"category", .same = "0"},
			{"subcategory", .same = "0"}, {"func", .get = frame_function_id},
			{"nativeSymbol", .same = "null"}, {"innerWindowID", .same = "0"},
			{"implementation", .same = "null"}, {"line", .get = frame_line},
			{"column", .same = "null"}, {0}};
	static const struct column functions[] = {{"name", .get = function_name},
			{"isJS", .same = "false"}, {"relevantForJS", .same = "false"},
			{"resource", .get = function_resource, .is_signed = true},
			{"fileName", .get = function_file}, {"lineNumber", .same = "null"},
			{"columnNumber", .same = "null"}, {0}};
	// One per library
	static const struct column resources[] = {{"lib", .get = resource_lib},
			{"name", .get = resource_name}, {"host", .same = "null"}, {"type", .same = "1"}, {0}};
	put_table(d, "stackTable", 1, d->p->nodes.n, stacks);
	put_table(d, "frameTable", 1, d->p->frames.n, frames);
	put_table(d, "funcTable", 1, d->functions.n, functions);
	put_table(d, "resourceTable", 1, d->p->mappings.n, resources);
}

ORDER_OF(by_time, struct event,
		LOWEST(time_ns) ?: LOWEST(address) ?: (a->bytes < b->bytes) - (a->bytes > b->bytes));

static uint32_t events_of_lives(const struct profile *p, struct event *events) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->lives.n; i++) {
		const struct profile_life *l = &p->lives.items[i];
		uint32_t node = p->samples.items[l->sample].node;
		int64_t bytes = (int64_t)l->bytes;
		events[n++] = (struct event){profile_moment_ns(p, l->from), bytes, node, i + 1};
		if (l->until != PROFILE_NEVER) {
			events[n++] = (struct event){profile_moment_ns(p, l->until), -bytes, node, i + 1};
		}
	}
	return n;
}

static uint32_t events_of_samples(const struct profile *p, bool of_base, struct event *events) {
	enum profile_value value = profile_knows(p, PROFILE_PEAK_BYTES) ? PROFILE_PEAK_BYTES
			: profile_knows(p, PROFILE_LIVE_BYTES)                  ? PROFILE_LIVE_BYTES
																	: PROFILE_ALLOC_BYTES;
	uint32_t n = 0;
	EACH_THAT(s, p->samples, s->is_base == of_base && s->values[value]) {
		events[n++] = (struct event){p->peak_time_ns, (int64_t)s->values[value], s->node,
				(uint32_t)(s - p->samples.items) + 1};
	}
	return n;
}

static void put_times(struct document *d, const struct event *events, uint32_t n) {
	JSON_LIST(&d->j, "time");
	for (uint32_t i = 0; i < n; i++) {
		const unsigned long long ns = events[i].time_ns;
		json_raw(&d->j, slice_of_text(FORMAT(32, "%llu.%06llu", ns / 1000000, ns % 1000000)));
	}
}

static void put_allocations(struct document *d, bool of_base) {
	const struct profile *p = d->p;
	size_t most = p->lives.n * 2ul > p->samples.n ? p->lives.n * 2ul : p->samples.n;
	struct event *events = arena_new(&d->scratch, struct event, most);
	bool is_balanced = p->lives.n > 0 && !p->is_diff;
	uint32_t n = is_balanced ? events_of_lives(p, events) : events_of_samples(p, of_base, events);
	qsort(events, n, sizeof *events, by_time);
	JSON_OBJECT(&d->j, "nativeAllocations");
	json_number(&d->j, "length", n);
	json_text(&d->j, "weightType", "bytes");
	put_times(d, events, n);
	d->events = events;
	put_column(d, &(struct column){"weight", .get = event_bytes, .is_signed = true}, 0, n);
	put_column(d, &(struct column){"stack", .get = event_stack}, 0, n);
	if (is_balanced) {
		put_column(d, &(struct column){"memoryAddress", .get = event_address}, 0, n);
		put_same(d, "threadId", n, "0");
	}
}

static void put_strings(struct document *d) {
	JSON_LIST(&d->j, "stringArray");
	for (uint32_t i = 0; i < d->p->strings.n; i++) {
		json_string(&d->j, NULL, d->p->strings.items[i]);
	}
}

static void put_thread(struct document *d, bool of_base) {
	static const char rest[] =
			"\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
			"\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[]";
	static const char empty[] = "\"markers\":{\"length\":0,\"category\":[],\"data\":[],"
								"\"endTime\":[],\"name\":[],\"phase\":[],\"startTime\":[]},"
								"\"samples\":{\"length\":0,\"stack\":[],\"time\":[],"
								"\"weight\":null,\"weightType\":\"samples\",\"eventDelay\":[]},"
								"\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],"
								"\"name\":[],\"functionSize\":[]}";
	JSON_OBJECT(&d->j, NULL);
	json_raw(&d->j, slice_of_text(rest));
	json_text(&d->j, "name", of_base ? "base" : "heap");
	json_bool(&d->j, "isMainThread", !of_base);
	json_text(&d->j, "pid", FORMAT(16, "%u", d->p->pid));
	json_number(&d->j, "tid", of_base);
	json_raw(&d->j, slice_of_text(empty));
	put_tables(d);
	put_strings(d);
	put_allocations(d, of_base);
}

static void put_meta(struct document *d) {
	static const char
			rest[] = "\"extensions\":{\"length\":0,\"id\":[],\"name\":[],\"baseURL\":[]},"
					 "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\","
					 "\"subcategories\":[\"Other\"]}],"
					 "\"markerSchema\":[],\"processType\":0,\"stackwalk\":1,\"version\":30,"
					 "\"preprocessedProfileVersion\":48,\"symbolicated\":true,\"debug\":false,"
					 "\"importedFrom\":\"heaptrack\"";
	const struct profile *p = d->p;
	JSON_OBJECT(&d->j, "meta");
	json_number(&d->j, "interval", 1);
	json_number(&d->j, "startTime", p->wall_start_ns / 1000000);
	json_string(&d->j, "product", profile_text(p, p->program));
	json_raw(&d->j, slice_of_text(rest));
}

static void put_libs(struct document *d) {
	const struct profile *p = d->p;
	JSON_LIST(&d->j, "libs");
	for (uint32_t i = 1; i < p->mappings.n; i++) {
		struct slice path = profile_text(p, p->mappings.items[i].path);
		JSON_OBJECT(&d->j, NULL);
		json_text(&d->j, "arch", "");
		json_string(&d->j, "name", path);
		json_string(&d->j, "path", path);
		json_string(&d->j, "debugName", path);
		json_string(&d->j, "debugPath", path);
		json_text(&d->j, "breakpadId", "");
		json_string(&d->j, "codeId", profile_text(p, p->mappings.items[i].build_id));
	}
}

bool firefox_encode(struct buffer *out, const struct profile *p,
		const struct write_options *options, struct err *err) {
	(void)options, (void)err;
	struct document d = {.j = json_init(out), .p = p};
	profile_find_functions(p, PROFILE_BY_FILE | PROFILE_BY_MAPPING, &d.scratch, &d.functions);
	json_open(&d.j, NULL, '{');
	put_meta(&d);
	put_libs(&d);
	json_raw(&d.j, slice_of_text("\"pages\":[]"));
	json_open(&d.j, "threads", '[');
	put_thread(&d, false);
	if (p->is_diff) {
		put_thread(&d, true);
	}
	json_close(&d.j);
	json_close(&d.j);
	arena_finish(&d.scratch);
	return true;
}
