// SPDX-License-Identifier: MIT

/*
 * The trace file, for golden tests and fuzzers:
 *
 *   trace_file make FOLDER    finished.zst and growing.zst: the golden files of the present version
 *   trace_file seeds FOLDER   small inputs for the fuzzers, in trace/ and trace_payload/
 *   trace_file dump FILE      all that a file holds, as text
 */

#include "trace/events/events.h"
#include "trace/tables/tables.h"
#include "trace_samples.h"

#include <inttypes.h>

static void die(const char *what, const char *why) {
	fprintf(stderr, "trace_file: %s: %s\n", what, why);
	exit(1);
}

static void must(bool ok, const char *what, const struct err *err) {
	if (!ok) {
		die(what, err->text);
	}
}

static void save(const char *folder, const char *name, struct slice bytes) {
	char path[4096];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(bytes.data, 1, bytes.size, f) != bytes.size || fclose(f) != 0) {
		die(path, "cannot write");
	}
}

// ---- make

struct files {
	struct recording recording; // the last state
	struct buffer growing, finished;
};

static void add_events(struct trace_writer *w, uint64_t seed, uint32_t n_nodes, uint32_t n) {
	for (uint32_t i = 0; i < n; i++) {
		static const uint8_t kinds[] = {TRACE_ALLOC, TRACE_FREE, TRACE_ALLOC, TRACE_REALLOC,
				TRACE_MOVED, TRACE_ALLOC, TRACE_REALLOC, TRACE_STAYED, TRACE_FREE,
				TRACE_THREAD_ENDED, TRACE_EXEC};
		struct trace_event e = {.kind = kinds[i % (sizeof kinds - (i % 100 != 99))] & 0xfu};
		bool is_new = e.kind == TRACE_ALLOC || e.kind == TRACE_MOVED;
		e.ptr = 16 + 16 * sample_below(&seed, 20);
		e.node = is_new ? (uint32_t)sample_below(&seed, n_nodes) : e.kind == TRACE_FREE;
		e.size = is_new ? sample_below(&seed, 5000) << (i % 50 == 0 ? 30 : 0) : 0;
		e.thread = (1 + i / 7 % 3) & TRACE_THREAD_MAX;
		e.time_ns = i * 1000 - i % 9;
		struct err err = {0};
		must(trace_writer_events(w, &e, 1, &err), "events", &err);
	}
}

static struct files make_files(struct sample_size size, uint32_t n_checkpoints, uint32_t n_events) {
	struct files files = {0};
	struct sample_file growing = {0};
	struct sample_file finished = {0};
	struct err err = {0};
	struct trace_writer *w = trace_writer_create(sample_file_sink(&growing), 0, &err);
	must(w, "create", &err);
	for (uint32_t i = 0; i < n_checkpoints; i++) {
		recording_finish(&files.recording);
		sample_recording_make(&files.recording, 1, i, &size);
		add_events(w, i, size.nodes, n_events);
		must(trace_writer_checkpoint(w, &files.recording, &err), "checkpoint", &err);
		size.nodes += size.nodes / 4;
		size.frames += size.frames / 4;
	}
	struct trace_source old = sample_file_source(&growing);
	must(trace_write_whole(sample_file_sink(&finished), &files.recording, w, &old, &err), "whole",
			&err);
	trace_writer_destroy(w);
	files.growing = growing.bytes;
	files.finished = finished.bytes;
	return files;
}

static void make(const char *folder) {
	struct files f = make_files((struct sample_size){40, 30, 12, 9, 60}, 5, 120);
	save(folder, "growing.zst", buffer_view(&f.growing));
	save(folder, "finished.zst", buffer_view(&f.finished));
}

// ---- seeds

// What fuzz_trace_payload.c reads: four lengths, then the contents of four blocks
static struct buffer payload_seed(const struct recording *r, uint32_t n_events) {
	struct buffer pieces[4] = {0};
	struct log_marks marks = {0};
	struct log_piece piece = {0};
	struct events_encoder e = {0};
	bool ok = true;
	log_encode(&pieces[0], &piece, &marks, r);
	for (uint32_t i = 0; i < n_events; i++) {
		struct trace_event event = {.kind = (1 + i % 7) & 0xfu,
				.ptr = 16 + i / 4,
				.thread = (i % 3) & 0xfu};
		event.size = i % 5 == 0 ? 1ull << 40 : i;
		event.node = i % 3;
		event.time_ns = i * 100;
		events_add(&e, &event);
	}
	infos_encode(&e, &pieces[1]);
	events_encode(&e, &pieces[2]);
	state_encode(&pieces[3], r);
	struct buffer out = {0};
	for (int i = 0; i < 4; i++) {
		buffer_u8(&out, (uint8_t)pieces[i].size);
		buffer_u8(&out, (uint8_t)(pieces[i].size >> 8));
	}
	for (int i = 0; i < 4; i++) {
		ok &= pieces[i].size < 65536;
		buffer_slice(&out, buffer_view(&pieces[i]));
		buffer_finish(&pieces[i]);
	}
	if (!ok || out.failed) {
		die("seeds", "too large");
	}
	vec_finish(&piece.names);
	events_finish(&e);
	return out;
}

static void make_seeds(const char *folder) {
	static const struct {
		const char *name;
		struct sample_size size;
		uint32_t n_checkpoints, n_events;
	} seeds[] = {
			{"empty", {2, 0, 0, 1, 0}, 1, 0},
			{"small", {4, 4, 2, 3, 5}, 2, 15},
			{"several", {12, 20, 6, 8, 30}, 12, 40},
	};
	for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
		struct files f = make_files(seeds[i].size, seeds[i].n_checkpoints, seeds[i].n_events);
		char name[64];
		(void)snprintf(name, sizeof name, "trace/%s-finished", seeds[i].name);
		save(folder, name, buffer_view(&f.finished));
		(void)snprintf(name, sizeof name, "trace/%s-growing", seeds[i].name);
		// Its end is room to grow: one frame of zeros, which a cut leaves torn
		struct slice growing = buffer_view(&f.growing);
		growing.size = growing.size < 60000 ? growing.size : 60000;
		save(folder, name, growing);
		(void)snprintf(name, sizeof name, "trace_payload/%s", seeds[i].name);
		struct buffer payload = payload_seed(&f.recording, seeds[i].n_events);
		save(folder, name, buffer_view(&payload));
		buffer_finish(&payload);
		buffer_finish(&f.growing);
		buffer_finish(&f.finished);
		recording_finish(&f.recording);
	}
}

// ---- dump

static bool file_read(void *user, uint64_t at, void *out, size_t n, size_t *got, struct err *err) {
	if (fseeko(user, (off_t)at, SEEK_SET) != 0) {
		return err_set(err, ERR_SYSTEM, "cannot seek");
	}
	*got = fread(out, 1, n, user);
	return true;
}

#define U64(name, value) printf(" %s %" PRIu64, name, (uint64_t)(value))

static void dump_single(const struct recording *r) {
	const struct rec_meta *m = &r->meta;
	printf("meta pid %u exe %u cwd %u host %u argv %u+%u cpus %u page %u memory %" PRIu64
		   " limit %" PRIu64 " start %" PRIu64 " duration %" PRIu64 " written %" PRIu64
		   " source %u ended %u complete %u free_stacks %u status %d images %u version %u\n",
			m->pid, m->exe, m->cwd, m->host, m->argv_first, m->n_argv, m->n_cpus, m->page_bytes,
			m->system_memory_bytes, m->memory_limit_bytes, m->wall_start_ns, m->duration_ns,
			m->written_ns, m->source, m->ended, m->is_complete, m->has_free_stacks, m->exit_status,
			m->n_images, m->version);
	const struct rec_summary *s = &r->summary;
	printf("summary");
	U64("allocations", s->allocations);
	U64("bytes", s->allocated_bytes);
	U64("frees", s->frees);
	U64("reallocs", s->reallocs);
	U64("temporary", s->temporary);
	U64("short_lived", s->short_lived);
	U64("failed", s->failed);
	printf(" peak %" PRIu64 "/%" PRIu64 "@%" PRIu64 " live %" PRIu64 "/%" PRIu64 " gone %" PRIu64
		   "/%" PRIu64 " rss %" PRIu64 "@%" PRIu64 " faults %" PRIu64 " %" PRIu64 " cpu %" PRIu64
		   " %" PRIu64 "\n",
			s->peak_bytes, s->peak_blocks, s->peak_time_ns, s->live_bytes, s->live_blocks,
			s->gone_at_exec_bytes, s->gone_at_exec, s->peak_rss_bytes, s->peak_rss_time_ns,
			s->minor_faults, s->major_faults, s->user_cpu_ns, s->system_cpu_ns);
	const struct rec_quality *q = &r->quality;
	printf("quality %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		   " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u\n",
			q->lost_events, q->truncated_stacks, q->abandoned_hooks, q->skipped_numbers,
			q->unknown_frees, q->double_allocations, q->time_corrections, q->children_forked,
			q->children_executed, q->detail_ends_ns, q->events_dropped, q->clock_is_not_tsc,
			q->recording_stopped_early);
}

static void dump_code(const struct recording *r) {
	for (uint32_t i = 0; i < r->strings.n; i++) {
		printf("string %u \"%.*s\"\n", i, SLICE_ARG(r->strings.items[i]));
	}
	for (uint32_t i = 0; i < r->modules.n; i++) {
		const struct rec_module *m = &r->modules.items[i];
		printf("module %u %" PRIx64 "-%" PRIx64 " bias %" PRIx64 " path %u image %u package %u id ",
				i, m->start, m->end, m->bias, m->path, m->image, m->package);
		for (uint32_t k = 0; k < m->build_id_bytes; k++) {
			printf("%02x", m->build_id[k]);
		}
		printf(" symbols %u lines %u unresolved %u\n", m->has_symbols, m->has_lines,
				m->is_unresolved);
	}
	for (uint32_t i = 0; i < r->locations.n; i++) {
		const struct rec_location *l = &r->locations.items[i];
		printf("location %u pc %" PRIx64 " module %u frames %u+%u exact %u mark %u\n", i, l->pc,
				l->module, l->first_frame, l->n_frames, l->is_exact, l->is_mark);
	}
	for (uint32_t i = 0; i < r->frames.n; i++) {
		const struct rec_frame *f = &r->frames.items[i];
		printf("frame %u function %u symbol %u file %u line %u\n", i, f->function, f->symbol,
				f->file, f->line);
	}
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		printf("node %u parent %u location %u\n", i, r->nodes.items[i].parent,
				r->nodes.items[i].location);
	}
}

static void dump_stacks(const struct recording *r) {
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		const struct rec_stack *s = &r->stacks.items[i];
		printf("stack %u node %u usual %u", i, s->node, s->usual_size);
		U64("allocations", s->allocations);
		U64("bytes", s->allocated_bytes);
		U64("temporary", s->temporary);
		U64("temporary_bytes", s->temporary_bytes);
		U64("short_lived", s->short_lived);
		U64("peak", s->peak_blocks);
		U64("peak_bytes", s->peak_bytes);
		U64("live", s->live_blocks);
		U64("live_bytes", s->live_bytes);
		U64("reallocs", s->reallocs);
		U64("first", s->first_ns);
		U64("last", s->last_ns);
		printf(" lifetimes");
		for (int k = 0; k < 16; k++) {
			printf(" %u", r->lifetimes.items[i].blocks[k]);
		}
		printf("\n");
	}
	for (uint32_t i = 0; i < r->sizes.n; i++) {
		const struct rec_size *s = &r->sizes.items[i];
		printf("size %u class %u %" PRIu64 " count %" PRIu64 " bytes %" PRIu64 " live %" PRIu64
			   "\n",
				s->stack, s->is_class, s->size, s->count, s->bytes, s->live);
	}
}

static void dump_time(const struct recording *r) {
	for (uint32_t i = 0; i < r->edges.n; i++) {
		const struct rec_edge *e = &r->edges.items[i];
		printf("edge %u", i);
		U64("time", e->time_ns);
		U64("end", e->end_ns);
		U64("bytes", e->bytes);
		U64("blocks", e->blocks);
		U64("min", e->min_bytes);
		U64("allocations", e->allocations);
		U64("allocated", e->allocated_bytes);
		U64("temporary", e->temporary);
		printf("\n");
	}
	for (uint32_t i = 0; i < r->intervals.n; i++) {
		const struct rec_interval v = recording_interval(r, i);
		printf("interval stack %u %u-%u count %u temporary %u bytes %" PRIu64 "\n", v.stack, v.from,
				v.until, v.count, v.temporary, v.bytes);
	}
	for (uint32_t i = 0; i < r->samples.n; i++) {
		const struct rec_sample *s = &r->samples.items[i];
		printf("sample %" PRIu64 " rss %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			   " ours %" PRIu64 " heap %" PRIu64 " faults %" PRIu64 " %" PRIu64 " threads %u\n",
				s->time_ns, s->rss_bytes, s->rss_anon_bytes, s->rss_file_bytes, s->rss_shmem_bytes,
				s->ours_bytes, s->heap_bytes, s->minor_faults, s->major_faults, s->n_threads);
	}
}

static void dump_mappings(const struct recording *r) {
	for (uint32_t i = 0; i < r->mapping_edges.n; i++) {
		const struct rec_edge *e = &r->mapping_edges.items[i];
		printf("mapping edge %u", i);
		U64("time", e->time_ns);
		U64("end", e->end_ns);
		U64("bytes", e->bytes);
		U64("mappings", e->blocks);
		U64("min", e->min_bytes);
		U64("maps", e->allocations);
		U64("mapped", e->allocated_bytes);
		printf("\n");
	}
	for (uint32_t i = 0; i < r->mappings.n; i++) {
		const struct rec_mapping *m = &r->mappings.items[i];
		printf("mapping %u node %u inside %u", i, m->node, m->is_inside);
		U64("maps", m->maps);
		U64("mapped", m->mapped_bytes);
		U64("peak", m->peak_maps);
		U64("peak_bytes", m->peak_bytes);
		U64("live", m->live_maps);
		U64("live_bytes", m->live_bytes);
		U64("first", m->first_ns);
		U64("last", m->last_ns);
		printf("\n");
	}
	for (uint32_t i = 0; i < r->mapping_intervals.n; i++) {
		const struct rec_interval *v = &r->mapping_intervals.items[i];
		printf("mapping interval %u %u-%u count %u bytes %" PRIu64 "\n", v->stack, v->from,
				v->until, v->count, v->bytes);
	}
	for (uint32_t i = 0; i < r->ranges.n; i++) {
		const struct rec_range *a = &r->ranges.items[i];
		printf("range %" PRIx64 "-%" PRIx64 " mapping %u sort %u born %" PRIu64 "\n", a->start,
				a->end, a->mapping, a->sort, a->born_ns);
	}
	for (uint32_t i = 0; i < r->changes.n; i++) {
		const struct rec_change *c = &r->changes.items[i];
		printf("change %u node %u what %u inside %u", i, c->node, c->what, c->is_inside);
		U64("calls", c->calls);
		U64("bytes", c->bytes);
		U64("first", c->first_ns);
		U64("last", c->last_ns);
		printf("\n");
	}
	if (r->mapping_edges.n > 0) {
		printf("mapped peak %" PRIu64 "@%" PRIu64 " never unmapped %" PRIu64 "\n",
				r->summary.mapped_peak_bytes, r->summary.mapped_peak_time_ns,
				r->summary.never_unmapped_bytes);
	}
}

static void dump_processes(const struct recording *r) {
	for (uint32_t i = 0; i < r->threads.n; i++) {
		const struct rec_thread *t = &r->threads.items[i];
		printf("thread %u tid %u image %u name %u merged %u", i, t->tid, t->image, t->name,
				t->n_merged);
		U64("first", t->first_ns);
		U64("last", t->last_ns);
		U64("allocations", t->allocations);
		U64("bytes", t->allocated_bytes);
		U64("frees", t->frees);
		U64("temporary", t->temporary);
		U64("live", t->live_bytes);
		U64("peak", t->peak_bytes);
		U64("foreign", t->foreign_frees);
		printf("\n");
	}
	for (uint32_t i = 0; i < r->handovers.n; i++) {
		const struct rec_handover *h = &r->handovers.items[i];
		printf("handover %u-%u blocks %" PRIu64 " bytes %" PRIu64 "\n", h->from, h->to, h->blocks,
				h->bytes);
	}
	for (uint32_t i = 0; i < r->children.n; i++) {
		const struct rec_child *c = &r->children.items[i];
		printf("child %u name %u exe %u fork %u rss %" PRIu64 "\n", c->pid, c->name, c->exe,
				c->is_fork, c->peak_rss_bytes);
	}
	for (uint32_t i = 0; i < r->images.n; i++) {
		printf("image %u exe %u time %" PRIu64 "\n", i, r->images.items[i].exe,
				r->images.items[i].time_ns);
	}
}

static bool dump_events(void *user, const struct trace_event *events, size_t n) {
	uint64_t *number = user;
	for (size_t i = 0; i < n; i++) {
		const struct trace_event *e = &events[i];
		printf("event %" PRIu64 " kind %u block %" PRIu64 " node %u size %" PRIu64
			   " thread %u time %" PRIu64 "\n",
				(*number)++, e->kind, e->ptr, e->node, e->size, e->thread, e->time_ns);
	}
	return true;
}

static void dump(const char *path) {
	FILE *f = fopen(path, "rb");
	if (!f || fseeko(f, 0, SEEK_END) != 0) {
		die(path, "cannot open");
	}
	struct trace_source src = {file_read, (uint64_t)ftello(f), f};
	struct recording r = {0};
	struct trace_facts facts;
	struct err err = {0};
	must(trace_read(&r, &facts, &src, 0, &err), path, &err);
	printf("file version %u finished %d torn %d damaged %" PRIu64 " events %" PRIu64
		   " from %" PRIu64 "\n",
			facts.version, facts.is_finished, facts.is_torn, facts.damaged_bytes, facts.n_events,
			facts.first_event);
	dump_single(&r);
	dump_code(&r);
	dump_stacks(&r);
	dump_time(&r);
	dump_mappings(&r);
	dump_processes(&r);
	uint64_t number = facts.first_event;
	must(trace_read_events(&src, &r, dump_events, &number, &err), path, &err);
	recording_finish(&r);
	(void)fclose(f);
}

int main(int argc, char **argv) {
	if (argc == 3 && strcmp(argv[1], "make") == 0) {
		make(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "seeds") == 0) {
		make_seeds(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "dump") == 0) {
		dump(argv[2]);
	} else {
		fprintf(stderr, "usage: trace_file make|seeds FOLDER, trace_file dump FILE\n");
		return 2;
	}
	return 0;
}
