// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	EVENTS_BUDGET = 256000000, // bytes of --events without a size
	EVENTS_LEAST = 1000000,
};

// Options without a letter of their own
enum {
	OPT_BESIDE = 256,
	OPT_RECORD_ONLY,
	OPT_EVENTS,
	OPT_FREE_STACKS,
	OPT_EXACT_TIME,
	OPT_DURATION,
	OPT_DETACH,
	OPT_USE_INJECT,
	OPT_ASAN
};

static const struct option long_options[] = {
		{"analyze", no_argument, NULL, 'a'},
		{"asan", no_argument, NULL, OPT_ASAN},
		{"beside", required_argument, NULL, OPT_BESIDE}, // the recorder library says it
		{"debug", no_argument, NULL, 'd'},
		{"detach", required_argument, NULL, OPT_DETACH},
		{"duration", required_argument, NULL, OPT_DURATION},
		{"events", optional_argument, NULL, OPT_EVENTS},
		{"exact-time", no_argument, NULL, OPT_EXACT_TIME},
		{"force", no_argument, NULL, 'f'},
		{"free-stacks", no_argument, NULL, OPT_FREE_STACKS},
		{"help", no_argument, NULL, 'h'},
		{"interpret", no_argument, NULL, 'i'},
		{"output", required_argument, NULL, 'o'},
		{"output-file", required_argument, NULL, 'o'},
		{"pid", required_argument, NULL, 'p'},
		{"quiet", no_argument, NULL, 'q'},
		{"raw", no_argument, NULL, 'r'},
		{"record-only", no_argument, NULL, OPT_RECORD_ONLY},
		{"use-inject", no_argument, NULL, OPT_USE_INJECT},
		{"version", no_argument, NULL, 'v'},
		{0},
};

const char heaptrack_help[] =
		"Usage: heaptrack [options] PROGRAM [ARGUMENTS...]\n"
		"       heaptrack [options] -p PID\n"
		"       heaptrack -a FILE\n"
		"       heaptrack -i FILE [--sysroot DIR] [--debug-paths DIR...] [--extra-paths DIR...]\n"
		"\n"
		"Runs a program and records every block of memory that it allocates, with the stack of\n"
		"calls that led there. The program runs as it would without heaptrack. Afterwards:\n"
		"  heaptrack_print FILE    says where the memory went\n"
		"\n"
		"  -o, --output FILE       record to FILE; %h is the host's name, %p the program's pid\n"
		"                          (default: heaptrack.PROGRAM.PID.zst in this folder). A recording\n"
		"                          that has the name is moved aside to NAME.1.zst\n"
		"  -f, --force             replace it instead\n"
		"  -q, --quiet             print nothing but errors\n"
		"      --events[=SIZE]     keep every single event as well, the newest SIZE bytes of them\n"
		"                          (256M; the totals are exact without)\n"
		"      --free-stacks       also find the stack of every free\n"
		"      --exact-time        take the time of every event, not of every millisecond\n"
		"      --record-only       accepted: nothing is ever opened by itself\n"
		"  -p, --pid PID           record a program that runs already, from now until Ctrl+C; it goes on\n"
		"      --duration TIME     with -p: for so long (90s, 5m)\n"
		"      --detach PID        put right what a killed heaptrack -p has left in a program\n"
		"  -r, --raw               write the raw stream of KDE's heaptrack, without names\n"
		"  -i, --interpret FILE    put names to a recording made elsewhere, from binaries found here\n"
		"  -a, --analyze FILE      print the report of a recording\n"
		"  -h, --help    -v, --version    --    end of the options\n"
		"\n"
		"The exit status is that of the program, 128 + n if signal n ended it; 127 or 126 if it\n"
		"could not be started; 1 if heaptrack could not do its part.\n";

bool heaptrack_options_size(const char *text, uint64_t *bytes, struct err *err) {
	static const char units[] = "kMGT";
	char *end;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	bool ok = errno == 0 && isdigit((unsigned char)text[0]);
	const char *unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
	for (const char *u = units; ok && unit && u <= unit; u++) {
		ok = !__builtin_mul_overflow(n, 1000ull, &n);
	}
	end += unit ? 1 : 0;
	end += *end == 'B' ? 1 : 0;
	if (!ok || *end) {
		return err_set(err, ERR_USAGE, "\"%s\" is no size; write it as 256M or 2G", text);
	}
	*bytes = n;
	return true;
}

static bool parse_events(struct heaptrack_options *o, struct err *err) {
	o->events_bytes = EVENTS_BUDGET;
	if (!optarg) {
		return true;
	}
	if (!heaptrack_options_size(optarg, &o->events_bytes, err)) {
		return err_add(err, "--events");
	}
	if (o->events_bytes < EVENTS_LEAST) {
		return err_set(err, ERR_USAGE, "--events=%s keeps nothing worth keeping; 1M is the least",
				optarg);
	}
	return true;
}

bool heaptrack_options_time(const char *text, uint64_t *ns, struct err *err) {
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 0.001}, {"m", 60}, {"min", 60}, {"h", 3600}};
	char *end;
	double n = strtod(text, &end);
	for (size_t i = 0; isdigit((unsigned char)text[0]) && i < sizeof units / sizeof *units; i++) {
		if (strcmp(end, units[i].name) == 0 && n * units[i].seconds < 1e9 && n > 0) {
			*ns = (uint64_t)(n * units[i].seconds * 1e9);
			return true;
		}
	}
	return err_set(err, ERR_USAGE, "\"%s\" is no time; write it as 90s or 5m", text);
}

static bool parse_pid(struct heaptrack_options *o, const char *option, struct err *err) {
	char *end;
	errno = 0;
	long pid = strtol(optarg, &end, 10);
	if (errno != 0 || end == optarg || *end || pid <= 0 || pid > INT32_MAX) {
		return err_set(err, ERR_USAGE, "%s %s: that is no process id", option, optarg);
	}
	o->pid = (int)pid;
	return true;
}

/** "PID:FD" */
static bool parse_beside(struct heaptrack_options *o, struct err *err) {
	char end;
	return sscanf(optarg, "%d:%d%c", &o->pid, &o->fd, &end) == 2 ||
			err_set(err, ERR_USAGE, "--beside is the recorder library's own");
}

static bool parse_one(struct heaptrack_options *o, int c, char **argv, struct err *err) {
	switch (c) {
	case 'a': o->what = ASKED_ANALYZE; break;
	case 'd': o->what = ASKED_DEBUG; break;
	case 'f': o->overwrite = true; break;
	case 'h': o->what = ASKED_HELP; break;
	case 'i': o->what = ASKED_INTERPRET; break;
	case 'o': o->output = optarg; break;
	case 'p': o->what = ASKED_ATTACH; return parse_pid(o, "-p", err);
	case 'q': o->is_quiet = true; break;
	case 'v': o->what = ASKED_VERSION; break;
	case OPT_BESIDE: o->what = ASKED_BESIDE; return parse_beside(o, err);
	case OPT_EVENTS: return parse_events(o, err);
	case OPT_DETACH: o->what = ASKED_DETACH; return parse_pid(o, "--detach", err);
	case OPT_DURATION:
		return heaptrack_options_time(optarg, &o->duration_ns, err) || err_add(err, "--duration");
	case OPT_EXACT_TIME: o->exact_time = true; break;
	case OPT_FREE_STACKS: o->free_stacks = true; break;
	case OPT_ASAN:
	case OPT_RECORD_ONLY:
	case OPT_USE_INJECT: break; // they ask for what is the case anyway
	case 'r': o->is_raw = true; break;
	case ':': return err_set(err, ERR_USAGE, "%s needs a value", argv[optind - 1]);
	default: return err_set(err, ERR_USAGE, "there is no option %s", argv[optind - 1]);
	}
	return true;
}

bool heaptrack_options_parse(struct heaptrack_options *o, int argc, char **argv, struct err *err) {
	*o = (struct heaptrack_options){0};
	opterr = 0;
	optind = 1;
	int c;
	// "+": what follows the program's name is the program's
	while ((o->what == ASKED_RECORD || o->what == ASKED_ATTACH) &&
			(c = getopt_long(argc, argv, "+:adfhio:p:qrv", long_options, NULL)) != -1) {
		if (!parse_one(o, c, argv, err)) {
			return false;
		}
	}
	o->rest = argv + optind;
	o->n_rest = argc - optind;
	if (o->duration_ns != 0 && o->what != ASKED_ATTACH) {
		return err_set(err, ERR_USAGE, "--duration goes with -p PID");
	}
	if (o->output && !*o->output) {
		return err_set(err, ERR_USAGE, "-o needs the name of a file");
	}
	return true;
}
