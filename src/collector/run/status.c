// SPDX-License-Identifier: MIT
/* The answers on the control socket: what is known already, and what a look saw. */
#include "collector/run/parts.h"
#include "engine/memory.h"

enum { COMMAND_BYTES = 16 << 10 }; // longer ones are cut

static void put_command(struct json *j, char *const *argv) {
	size_t n = 0;
	json_open(j, "command", '[');
	for (; *argv && n + strlen(*argv) < COMMAND_BYTES; argv++) {
		n += strlen(*argv) + 1;
		json_text(j, NULL, *argv);
	}
	json_close(j);
	json_bool(j, "command_is_cut", *argv != NULL);
}

/** The recording's path, absolute. */
static void put_file(struct json *j, const struct output *o) {
	char folder[4096];
	SCOPED(buffer) path = {0};
	struct stat st;
	if (o->path[0] != '/' && getcwd(folder, sizeof folder)) {
		buffer_printf(&path, "%s/", folder);
	}
	buffer_text(&path, o->path);
	json_string(j, "file", buffer_view(&path));
	json_number(j, "file_bytes", fstat(o->fd, &st) == 0 ? (uint64_t)st.st_size : 0);
}

/** What points to live blocks, if asked for; else why it is unknown. */
static void put_grades(struct json *j, const struct run *run, const struct look *look) {
	struct memory_grades m = {0};
	if (!run->options->leaks) {
		return;
	}
	json_number(j, "pause_ns", run->look_pause_ns);
	if (!(look->row.has & REC_HAS_GRAPH)) {
		json_text(j, "ungraded", run->why_ungraded);
		return;
	}
	uint64_t blocks = 0, bytes = 0;
	EACH(g, look->graded.grades) {
		m.blocks[g->grade] += g->blocks;
		m.bytes[g->grade] += g->bytes;
		blocks += memory_is_unreachable(g->grade) ? g->blocks : 0;
		bytes += memory_is_unreachable(g->grade) ? g->bytes : 0;
	}
	json_number(j, "unreachable_blocks", blocks);
	json_number(j, "unreachable_bytes", bytes);
	memory_put_grades_json(j, &m);
}

void run_put_look(void *user, struct buffer *out) {
	const struct run *run = user;
	const struct looks *l = &run->looks;
	const struct look *asked = FIND_IN(it, l->items, it->row.time_ns == run->asked_look_ns);
	const struct look *look = asked ? asked : &l->items.items[l->items.n - 1];
	uint64_t bytes[REC_PARTS] = {0};
	struct json j = json_init(out);
	EACH(p, look->parts) {
		bytes[p->part] += p->resident_bytes;
	}
	JSON_DOCUMENT(&j);
	json_number(&j, "pid", look->row.pid);
	put_file(&j, &run->output);
	json_text(&j, "at", memory_at_ids[look->row.at]);
	JSON_FIELDS(&j, &look->row, time_ns, rss_bytes, swap_bytes, cost_ns);
	put_grades(&j, run, look);
	JSON_LIST(&j, "parts");
	EACH_NUMBER(i, REC_PARTS, bytes[i] > 0) {
		JSON_OBJECT(&j, NULL);
		json_text(&j, "id", memory_part_texts[i].id);
		json_number(&j, "bytes", bytes[i]);
	}
}

void run_put_no_look(void *user, struct buffer *out) {
	const struct run *run = user;
	struct json j = json_init(out);
	JSON_DOCUMENT(&j);
	json_text(&j, "error",
			run->options->no_memory ? "looks at memory are off in this recording (--no-memory)"
					: run->tree     ? "looks are made of one process, not of a tree"
					: run->records_mappings ? "the program's memory cannot be read"
											: "calls that map memory are not recorded here");
}

void run_put_status(void *user, struct buffer *out) {
	struct run *run = user;
	struct json j = json_init(out);
	JSON_DOCUMENT(&j);
	json_number(&j, "pid", (uint64_t)run->program);
	json_number(&j, "collector_pid", (uint64_t)getpid());
	json_text(&j, "state", run->end.time_ns > 0 ? "finishing" : "recording");
	json_bool(&j, "attached", run->meta.source == REC_ATTACHED);
	put_command(&j, run->argv);
	put_file(&j, &run->output);
	json_number(&j, "started_ns", run->meta.wall_start_ns);
	json_number(&j, "duration_ns",
			(run->end.time_ns > 0 ? run->end.time_ns : clock_now_ns()) - run->segment.start_ns);
	struct aggregate_now now = aggregate_now(run_aggregate(run));
	JSON_FIELDS(&j, &now, live_bytes, live_blocks, peak_bytes, allocations);
	json_number(&j, "events", order_counts(run->order).events);
	json_number(&j, "lost_events", run_lost_events(run));
	json_number(&j, "rss_bytes",
			run->samples.n > 0 ? run->samples.items[run->samples.n - 1].rss_bytes : 0);
}
