// SPDX-License-Identifier: MIT
/* Says which processes of a tree held its peak, and what its copies no longer share. */
#include "engine/breakdown.h"
#include "engine/findings/parts.h"

/** What was live at the peak, of one command or of all. */
static struct breakdown peak_by(struct finder *f, enum breakdown_by by, const struct lens *l) {
	struct lens_result result;
	check(lens_apply(l, f->r, f->names, &f->scratch, &result, NULL));
	return breakdown_make(by, l, f->r, f->names, &result, &f->scratch);
}

/** How many processes had live blocks then; 0: some of these are of unknown ones. */
static uint32_t count_processes(const struct breakdown *b) {
	if (b->n > 0 && b->parts[b->n - 1].is_rest && b->parts[b->n - 1].costs.blocks > 0) {
		return 0;
	}
	return (uint32_t)SUM(i, b->n, b->parts[i].costs.blocks > 0); // others allocated before or after
}

/** How much memory copies share: what top adds up, and what it is without counting pages twice. */
static void say_shared(struct finder *f) {
	const struct rec_sample *s = recording_most_pss(f->r);
	if (s) {
		SAY(f,
				"; at %s, all together had %s of RSS as top adds it up, %s with shared pages "
				"divided among those that map them (PSS)",
				HUMAN_DURATION(s->time_ns), HUMAN_BYTES(s->rss_bytes), HUMAN_BYTES(s->pss_bytes));
		FINDER_PUT(f, s, rss_bytes, pss_bytes);
	}
}

/** Who mapped most, by calls of its own, of all that the processes of a command have mapped. */
static void say_mapped(struct finder *f, uint32_t command) {
	uint64_t *of = FINDER_NEW(f, uint64_t, names_n_functions(f->names)), all = 0;
	const struct slice who = f->r->strings.items[f->r->commands.items[command].name];
	const struct name *most = NULL, *running;
	EACH_THAT(m, f->r->mappings, m->command == command && !m->is_inside) {
		const struct name *maker = names_mapper(f->names, m->node, &running);
		all += m->mapped_bytes;
		if (maker) {
			of[maker->function_id] += m->mapped_bytes;
			most = !most || of[maker->function_id] >= of[most->function_id] ? maker : most;
		}
	}
	if (most && of[most->function_id] > all / 10 && !slice_equal(most->function, who)) {
		SAY(f, "; of %s that %.*s mapped or reserved in all, %s mapped %s", HUMAN_BYTES(all),
				SLICE_ARG(who), name_words(f, most), HUMAN_PERCENT(of[most->function_id], all));
	}
}

static uint64_t blocks_of(const struct rec_process *p) {
	return p->peak_bytes + p->inherited_bytes;
}

/** Most of what a process had in memory may not be blocks. */
static void say_outside(struct finder *f) {
	enum { LEAST = 32000000, SHARE = 2 };
	const struct recording *r = f->r;
	const struct rec_process *p = MOST(it, r->processes,
			blocks_of(it) < it->peak_rss_bytes / SHARE ? it->peak_rss_bytes - blocks_of(it) : 0);
	if (p && p->peak_rss_bytes >= LEAST) {
		SAY(f,
				"; %.*s (pid %" PRIu32
				") had up to %s in memory (RSS), at most %s of it in recorded blocks",
				SLICE_ARG(r->strings.items[r->commands.items[p->command].name]), p->pid,
				HUMAN_BYTES(p->peak_rss_bytes), HUMAN_BYTES(blocks_of(p)));
		finder_put(f, "largest_rss_bytes", p->peak_rss_bytes);
		say_mapped(f, p->command);
	}
}

void find_processes_at_peak(struct finder *f) {
	const uint64_t peak = f->r->summary.peak_bytes;
	struct lens l = lens_whole();
	if (f->r->processes.n <= 2 || peak == 0) {
		return;
	}
	const struct breakdown commands = peak_by(f, BY_COMMAND, &l), all = peak_by(f, BY_PROCESS, &l);
	const struct part *most = commands.parts;
	l.processes = &most->label;
	l.n_processes = 1;
	const struct breakdown its = peak_by(f, BY_PROCESS, &l);
	const uint32_t n = count_processes(&its), n_all = count_processes(&all);
	if (most->is_rest || most->costs.bytes < peak / 10) {
		return;
	}
	SAY(f, "at the peak, %s%.*s%s", n > 1 ? FORMAT(16, "%" PRIu32 " ", n) : "",
			SLICE_ARG(most->label),
			n > 1            ? " processes"
					: n == 1 ? FORMAT(32, " (pid %u)", its.parts->tid)
							 : "");
	SAY(f, " held %s (%s)", HUMAN_BYTES(most->costs.bytes), HUMAN_PERCENT(most->costs.bytes, peak));
	if (n > 1) {
		SAY(f, ", the largest %s (pid %" PRIu32 ")", HUMAN_BYTES(its.parts->costs.bytes),
				its.parts->tid);
		finder_put(f, "largest_bytes", its.parts->costs.bytes);
	}
	if (n > 0 && n_all > n) {
		SAY(f, "; %" PRIu32 " other%s held the rest", n_all - n, n_all - n == 1 ? "" : "s");
	}
	finder_put(f, "bytes", most->costs.bytes);
	finder_put(f, "processes", n_all);
	say_shared(f);
	say_outside(f);
	f->draft.lens = (const char *)lens_text(&l, f->r, f->arena).data;
	finder_say(f, FINDING_EXPLAINS, millionths(most->costs.bytes, peak));
}

void find_copied(struct finder *f) {
	enum { LEAST = 16000000 };
	const struct recording *r = f->r;
	uint64_t *sums = FINDER_NEW(f, uint64_t, r->commands.n);
	EACH(p, r->processes) {
		sums[p->command] += p->dirtied_bytes;
	}
	const uint64_t *most = MOST_OF(sum, sums, r->commands.n, *sum);
	if (!most || *most < LEAST || *most < r->summary.peak_bytes / 10) {
		return;
	}
	const uint32_t command = (uint32_t)(most - sums);
	const struct rec_process *largest = MOST(p, r->processes,
			p->command == command ? p->dirtied_bytes : 0);
	const uint64_t n = SUM(i, r->processes.n,
			r->processes.items[i].command == command && r->processes.items[i].dirtied_bytes > 0);
	SAY(f, "of the memory that %s of %.*s shared with %s at first, at least %s is no longer shared",
			n == 1 ? "a copy (fork)" : FORMAT(64, "%s copies (fork)", HUMAN_COUNT(n)),
			SLICE_ARG(r->strings.items[r->commands.items[command].name]),
			n == 1 ? "its parent" : "their parents", HUMAN_BYTES(*most));
	if (n > 1) {
		SAY(f,
				" (added up, also of copies that did not run at the same time; most in pid %" PRIu32
				": %s)",
				largest->pid, HUMAN_BYTES(largest->dirtied_bytes));
	}
	SAY(f, "; a page is copied when either writes to it");
	finder_put(f, "bytes", *most);
	finder_put(f, "processes", n);
	finder_put(f, "largest_bytes", largest->dirtied_bytes);
	finder_say(f, FINDING_EXPLAINS, millionths(*most, r->summary.peak_bytes));
}
