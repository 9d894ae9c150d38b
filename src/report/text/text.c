// SPDX-License-Identifier: MIT
/*
 * The default report: title, quality lines, the four totals, findings, where resident memory went,
 * four tables, ways to go on, the six classic lines. Tables get the lines that are left.
 */
#include "report/text/page.h"

#include <time.h>

static struct slice text(const struct page *p, uint32_t id) {
	return p->r->strings.items[id];
}

/**
 * What the program was called; if it gave itself a title, that without the folder of its first
 * word. In "/srv/my app/run" the blank belongs to the folder.
 */
static struct slice called_as(const struct page *p, struct slice exe) {
	const struct rec_meta *m = &p->r->meta;
	struct slice all = m->n_argv > 0 ? text(p, m->argv_first) : exe;
	const uint8_t *blank = all.size ? memchr(all.data, ' ', all.size) : NULL;
	if (!blank || slice_equal(path_base(all), exe)) {
		return path_base(all);
	}
	size_t word = (size_t)(blank - all.data), base = path_base(slice_of(all.data, word)).size;
	return slice_of(all.data + word - base, all.size - word + base);
}

static void put_program(struct page *p) {
	struct slice exe = path_base(text(p, p->r->meta.exe));
	struct slice called = called_as(p, exe);
	exe = exe.size ? exe : slice_of_text("unknown program");
	// redis-server is a link to redis-check-rdb: what it was called comes first
	bool is_name = called.size > 0 && isalnum(called.data[0]);
	// "nginx: master process" already names the program
	bool has_exe = called.size > exe.size && begins_with(called, exe) &&
			strchr(": ", called.data[exe.size]);
	buffer_slice(p->out, is_name ? called : exe);
	if (!slice_equal(called, exe) && called.size > 0 && !has_exe) {
		buffer_printf(p->out, " (%.*s)", SLICE_ARG(is_name ? exe : called));
	}
}

/** On a line of its own if a terminal would wrap it. */
static void put_file(struct page *p, size_t columns) {
	const char *file = p->options->file;
	if (file) {
		bool fits = !p->options->height || columns + strlen("   file ") + strlen(file) <= p->width;
		buffer_printf(p->out, fits ? "   file %s" : "\n  file %s", file);
	}
}

static void put_title(struct page *p) {
	size_t line = p->out->size;
	const struct rec_meta *m = &p->r->meta;
	put_program(p);
	if (!(p->r->missing & REC_TIME)) {
		buffer_printf(p->out, "   %s", HUMAN_DURATION(m->duration_ns));
	}
	if (recording_is_tree(p->r)) {
		buffer_printf(p->out, "   %s processes", HUMAN_COUNT(p->r->processes.n - 1));
	}
	const char *verdict = QUALITY_VERDICT(p->r);
	buffer_printf(p->out, "%s%s", *verdict ? "   " : "", verdict);
	time_t start = (time_t)(m->wall_start_ns / 1000000000);
	struct tm tm;
	if (m->wall_start_ns && localtime_r(&start, &tm)) {
		char when[32];
		size_t n = strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
		bool fits = !p->options->height ||
				p->out->size - line + strlen("   recorded ") + n <= p->width;
		if (fits) {
			buffer_printf(p->out, "   recorded %s", when);
		}
	}
	put_file(p, p->out->size - line);
	buffer_text(p->out, "\n\n");
}

enum { QUALITY_FIRST = 2 };

/** At most two on a first screen, to leave findings their room. */
static void put_quality(struct page *p, size_t most) {
	struct quality_line lines[QUALITY_LINES_MAX];
	size_t n = quality_lines(p->r, p->names, &p->arena, lines);
	for (size_t i = 0; i < n && i < most; i++) {
		visible_wrap(p->out, "  ! ", 4, lines[i].text, p->width);
	}
	if (n > most) {
		buffer_printf(p->out, "  ! … %zu more in the full report\n", n - most);
	}
	if (n > 0) {
		buffer_u8(p->out, '\n');
	}
}

/** A line of totals: two columns of "name  number  remark". */
static void put_pair(struct page *p, const char *name, const char *number, const char *remark,
		const char *name2, const char *number2, const char *remark2) {
	buffer_printf(p->out, "  %-11s %10s  %-20s %-11s %9s", name, number, remark, name2, number2);
	buffer_printf(p->out, "%s%s\n", *remark2 ? "  " : "", remark2);
}

/** The text, or "unknown" if an imported file lacks the number. */
static const char *known(const struct page *p, uint32_t number, const char *text) {
	return p->r->missing & number ? "unknown" : text;
}

/**
 * What grows, and how fast: by the heap's finding, or the first about growth. Returns the title.
 */
static const char *growth_words(struct page *p, char number[HUMAN_MAX + 2], struct buffer *remark) {
	bool has_time = !(p->r->missing & (REC_TIME | REC_LIVE_BYTES));
	(void)snprintf(number, HUMAN_MAX, "%s", has_time ? "not measured" : "unknown");
	const struct finding *heap = FIND_IN(it, p->findings, strcmp(it->id, "no-growth") == 0);
	const struct finding *f = heap
			?: FIND_IN(it, p->findings, finding_number(it, "grown_bytes") > 0);
	if (!f) {
		return "growing";
	}
	uint64_t rate = finding_number(f, "rate_bytes_per_s");
	uint64_t from_ns = finding_number(f, "from_ns"), to_ns = finding_number(f, "to_ns");
	uint64_t grown = finding_number(f, "grown_bytes");
	bool replaces_old = finding_number(f, "before_attach_freed_bytes") > 0 ||
			finding_number(f, "before_attach_freed_blocks") > 0;
	grown = heap && grown ? finding_number(f, "heap_grown_bytes") : grown; // 0 if it is a site's
	buffer_text(remark, replaces_old && grown ? "at most, " : "");
	if (heap) {
		(void)snprintf(number, HUMAN_MAX, "%s", grown ? HUMAN_BYTES(grown) : "nothing");
		buffer_printf(remark, "between %s and %s", HUMAN_DURATION(from_ns), HUMAN_DURATION(to_ns));
		return grown ? "heap grew" : "growing";
	}
	(void)snprintf(number, HUMAN_MAX + 2, "%s%s", HUMAN_BYTES(rate ? rate : grown),
			rate ? "/s" : "");
	if (!rate) {
		buffer_printf(remark, "in %s, ", HUMAN_SPAN(to_ns - from_ns));
	}
	buffer_slice(remark, f->function ? page_short_name(p, f->function) : slice_of_text(f->title));
	return rate ? "growing" : "grew by";
}

static void put_never_freed(struct page *p) {
	enum { LEFT = 47, RIGHT = 23, ALONE = 26 };
	const struct rec_summary *s = &p->r->summary;
	char number[HUMAN_MAX + 2];
	SCOPED(buffer) grows = {0};
	bool has_blocks = s->live_blocks && !(p->r->missing & REC_LIVE_BLOCKS);
	const char *remark = has_blocks ? FORMAT(64, "in %s", COUNTED(s->live_blocks, "block")) : "";
	const char *left = known(p, REC_LIVE_BYTES, HUMAN_BYTES(s->live_bytes));
	const char *title = growth_words(p, number, &grows);
	size_t wide = utf8_columns(buffer_view(&grows));
	bool fits = LEFT + RIGHT + wide <= p->width;
	buffer_printf(p->out, "  %-11s %10s  %-*s", "never freed", left, fits ? 20 : 0, remark);
	// On a line of its own if both do not fit on one
	buffer_printf(p->out, "%s%-11s %*s", fits ? " " : "\n  ", title, fits ? 9 : 10, number);
	if (wide > 0) {
		size_t room = p->width - ALONE;
		buffer_text(p->out, "  ");
		put_left(p->out, buffer_view(&grows), wide < room ? wide : room);
	}
	buffer_u8(p->out, '\n');
}

/** Which allocators the numbers cover, unless that goes without saying. */
static void put_hooked(struct page *p) {
	const struct recording *r = p->r;
	enum { MODULES = 4 };
	uint32_t n = 0;
	EACH_THAT(a, r->allocators, a->why == 0 && n++ < MODULES) {
		buffer_printf(p->out, n > 1 ? ", %u of %.*s" : "  hooked      %u functions of %.*s",
				a->n_functions, SLICE_ARG(path_base(r->strings.items[a->module])));
	}
	if (n > MODULES) {
		buffer_printf(p->out, " and more of %u others", n - MODULES);
	}
	if (n > 0) {
		buffer_u8(p->out, '\n');
	}
}

/** What a tree of processes executed, with the largest peak of one process. */
static void put_commands(struct page *p) {
	enum { COMMANDS = 4 };
	const struct recording *r = p->r;
	const uint32_t n = r->commands.n;
	struct rank *ranks = arena_new(&p->arena, struct rank, n + 1ul);
	SCOPED(buffer) text = {0};
	for (uint32_t i = 0; i < n; i++) {
		ranks[i].index = i;
	}
	EACH(process, r->processes) {
		RAISE_TO(ranks[process->command].weight, process->peak_bytes);
	}
	qsort(ranks, n, sizeof *ranks, rank_heaviest_first);
	EACH_NUMBER(i, n < COMMANDS ? n : COMMANDS, ranks[i].index > 0 && ranks[i].weight > 0) {
		const struct rec_command *c = &r->commands.items[ranks[i].index];
		buffer_text(&text, i > 0 ? ", " : "");
		if (c->n_processes > 1) {
			buffer_printf(&text, "%s × ", HUMAN_COUNT(c->n_processes));
		}
		buffer_printf(&text, i > 0 ? "%.*s (%s)" : "%.*s (largest peak %s)",
				SLICE_ARG(r->strings.items[c->name]), HUMAN_BYTES(ranks[i].weight));
	}
	if (text.size > 0) {
		buffer_text(&text, n > COMMANDS + 1 ? "; all: --by command" : "");
		visible_wrap(p->out, "  commands    ", 14, arena_text(&p->arena, buffer_view(&text)),
				p->width);
	}
}

static void put_totals(struct page *p) {
	const struct recording *r = p->r;
	const struct rec_summary *s = &r->summary;
	bool has_peak = s->peak_bytes && !(r->missing & (REC_PEAK_BYTES | REC_TIME));
	put_pair(p, "peak heap", known(p, REC_PEAK_BYTES, HUMAN_BYTES(s->peak_bytes)),
			has_peak ? FORMAT(64, "at %s", HUMAN_DURATION(s->peak_time_ns)) : "", "peak RSS",
			s->peak_rss_bytes ? HUMAN_BYTES(s->peak_rss_bytes) : "unknown",
			s->peak_rss_bytes && recording_is_tree(r) ? "added up" : "");
	put_never_freed(p);
	bool is_brief = r->meta.duration_ns < 1000000000; // too short to extrapolate
	const char *pace = r->missing & (REC_ALLOCATIONS | REC_TIME) ? ""
			: is_brief ? FORMAT(64, "in %s", HUMAN_DURATION(r->meta.duration_ns))
					   : FORMAT(64, "(%s/s)", HUMAN_COUNT(page_per_second(r, s->allocations)));
	// Files of other programs say what was temporary in their sense, not how long blocks lived
	bool knows_lives = r->meta.source == REC_LAUNCHED || r->meta.source == REC_ATTACHED;
	uint64_t brief = knows_lives ? s->short_lived : s->temporary;
	const char *share = FORMAT(64, "(%s)", HUMAN_PERCENT(brief, s->allocations));
	put_pair(p, "allocations", known(p, REC_ALLOCATIONS, HUMAN_COUNT(s->allocations)), pace,
			knows_lives ? "short-lived" : "temporary", known(p, REC_TEMPORARY, HUMAN_COUNT(brief)),
			r->missing & (REC_ALLOCATIONS | REC_TEMPORARY) ? "" : share);
	put_commands(p);
}

static void put_finding(struct page *p, const struct finding *f) {
	visible_wrap(p->out, FORMAT(64, "  %s  ", f->title), 4, f->text, p->width);
}

/** Puts only what precedes `words`, outside parentheses, as there are few lines. */
static void put_before(struct page *p, const struct finding *f, const char *words) {
	const char *end = f->text;
	for (int depth = 0; *end && (depth > 0 || strncmp(end, words, strlen(words)) != 0); end++) {
		depth += (*end == '(') - (*end == ')');
	}
	struct finding brief = *f;
	brief.text = *end ? arena_printf(&p->arena, "%.*s.", (int)(end - f->text), f->text) : f->text;
	put_finding(p, &brief);
}

/** Have enough findings of its kind been shown? */
static bool is_one_of_many(const struct findings *findings, uint32_t i) {
	enum { OF_A_KIND = 3 };
	return SUM(k, i, strcmp(findings->items[k].id, findings->items[i].id) == 0) >= OF_A_KIND;
}

/** Puts one that begins above `end`, and on a screen also ends above it, cut if need be. */
static bool put_if_room(struct page *p, const struct finding *f, size_t end, bool is_screen) {
	size_t before = p->out->size;
	if (page_lines(p) >= end) {
		return false;
	}
	put_finding(p, f);
	static const char *const less_needed[] = {"; ", ", of it "};
	for (size_t i = 0; i < 2 && is_screen && page_lines(p) > end; i++) {
		p->out->size = before;
		put_before(p, f, less_needed[i]);
	}
	if (is_screen && page_lines(p) > end) {
		p->out->size = before;
		return false;
	}
	return true;
}

/** On a screen, what holds the peak comes second. NULL: it is first already, or absent. */
static const struct finding *second_on_screen(const struct findings *findings,
		const struct finding *first) {
	const struct finding *peak = FIND_IN(f, *findings, strcmp(f->id, "peak") == 0);
	return peak != first ? peak : NULL;
}

/** The main findings, while lines last, and how many more there are. `screen`: its lines, or 0. */
static void put_findings(struct page *p, size_t screen) {
	const struct findings *findings = &p->findings;
	enum { LINES = 18, BEHIND = 2 }; // "3 more" and the empty line
	size_t end = page_lines(p) + LINES;
	end = screen && end + BEHIND > screen ? screen - BEHIND : end;
	uint32_t left = 0;
	const struct finding *first = FIND_IN(f, *findings, !f->is_quality);
	const struct finding *second = screen ? second_on_screen(findings, first) : NULL;
	buffer_text(p->out, "FINDINGS\n");
	for (uint32_t i = 0; i < findings->n; i++) {
		const struct finding *f = &findings->items[i];
		if (f->is_quality || f == second) {
			continue;
		}
		if (f == first) {
			put_finding(p, f);
			left += second && !put_if_room(p, second, end, true);
			continue;
		}
		left += is_one_of_many(findings, i) || !put_if_room(p, f, end, screen > 0);
	}
	if (left > 0) {
		buffer_printf(p->out, "  … %" PRIu32 " more in --json\n", left);
	}
	buffer_u8(p->out, '\n');
}

/** False: mappings explain why, or older blocks were graded: findings may say more. */
static bool put_nothing_seen(struct page *p) {
	enum { MAPPED_BYTES = 4000000 };
	bool was_attached = p->r->meta.source == REC_ATTACHED;
	bool maps = memory_at_peak(p->r).bytes[REC_PART_MAPPED] >= MAPPED_BYTES;
	const char *text = was_attached ? "The program allocated nothing while heaptrack was attached."
			: maps ? "The recorder saw no allocation: the program maps its memory itself."
				   : "The recorder saw no allocation. The program ended before its first one, "
					 "or it maps memory itself, as Go and some runtimes do; or it left "
					 "the work to programs that it executed or started.";
	visible_wrap(p->out, "  ", 2, text, p->width);
	buffer_u8(p->out, '\n');
	return !maps && !memory_grades(p->r, UINT64_MAX).look;
}

/** The whole report: 60 lines, and those on resident memory; or what little there is. */
static void put_page(struct page *p) {
	enum { LINES_AT_END = 8 };
	put_title(p);
	put_quality(p, SIZE_MAX);
	if (p->r->summary.allocations == 0) {
		if (!put_nothing_seen(p) && p->findings.n > 0) {
			put_findings(p, 0);
		}
		page_put_memory(p);
	} else {
		put_totals(p);
		put_hooked(p);
		buffer_u8(p->out, '\n');
		put_findings(p, 0);
		size_t used = page_lines(p) + LINES_AT_END; // memory does not take the tables' room
		page_put_memory(p);
		page_put_tables(p, used < PAGE_LINES ? PAGE_LINES - used : 0, SIZE_MAX);
	}
	buffer_text(p->out, "more: heaptrack_print --full | --html OUT | --tree | --help\n\n");
	report_six_lines(p->out, p->r); // last: scripts read the end of the output
}

/** What comes first and fits on a screen; tables if their largest rows have room. */
static void put_screen(struct page *p, size_t lines) {
	enum { TABLE_LINES = 7 };
	put_title(p);
	put_quality(p, QUALITY_FIRST);
	put_totals(p);
	buffer_u8(p->out, '\n');
	put_findings(p, lines - 1);
	size_t before = p->out->size;
	page_put_memory(p);
	p->out->size = page_lines(p) + 1 > lines ? before : p->out->size;
	size_t used = page_lines(p) + 1, left = used < lines ? lines - used : 0;
	page_put_tables(p, left, left / TABLE_LINES);
	buffer_text(p->out,
			"more: heaptrack_print FILE | less, or --full | --html OUT | --tree | --help\n");
}

static void put_report(struct page *p) {
	enum { LINES_MIN = 20 };
	const uint32_t height = p->options->height;
	size_t before = p->out->size, prompt = 1;
	put_page(p);
	size_t lines = height > LINES_MIN ? height - prompt : LINES_MIN - prompt;
	if (height > 0 && page_lines(p) > lines && p->r->summary.allocations > 0) {
		p->out->size = before;
		put_screen(p, lines);
	}
}

static void put_summary(struct page *p) {
	put_quality(p, QUALITY_FIRST);
	if (p->r->summary.allocations == 0) {
		(void)put_nothing_seen(p);
		return;
	}
	put_totals(p);
	put_hooked(p);
	// The first one, and the one asked for
	const struct finding *first = FIND_IN(f, p->findings, !f->is_quality);
	const struct finding *asked = FIND_IN(f, p->findings, strcmp(f->id, "unreachable") == 0);
	if (first && first->severity != FINDING_FACT) {
		put_before(p, first, "; ");
	}
	if (asked && asked != first) {
		put_before(p, asked, "; ");
	}
	buffer_u8(p->out, '\n');
}

void report_text(struct buffer *out, const struct recording *r, const struct names *n,
		const struct report_options *options) {
	enum { WIDTH_MAX = 160 };
	struct page p = {out, r, n, options, .width = width_asked(options, WIDTH_MAX)};
	p.findings = findings_make(r, n, &p.arena);
	(options->is_summary ? put_summary : put_report)(&p);
	arena_finish(&p.arena);
}
