// SPDX-License-Identifier: MIT
#include "cli/gui_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

enum { OPT_NO_BROWSER = 256, OPT_PORT, OPT_SOCKET, OPT_KEEP, OPT_SOURCE_ROOT, OPT_NO_SOURCE };

static const struct option long_options[] = {
		{"diff", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{"keep", no_argument, NULL, OPT_KEEP},
		{"no-browser", no_argument, NULL, OPT_NO_BROWSER},
		{"no-source", no_argument, NULL, OPT_NO_SOURCE},
		{"port", required_argument, NULL, OPT_PORT},
		{"socket", required_argument, NULL, OPT_SOCKET},
		{"source-root", required_argument, NULL, OPT_SOURCE_ROOT},
		{"version", no_argument, NULL, 'v'},
		{0},
};

const char gui_help[] =
		"Usage: heaptrack_gui [options] FILE\n"
		"       heaptrack_gui [options] BASE FILE\n"
		"       heaptrack_gui               lists the recordings of this folder\n"
		"\n"
		"Shows a recording in the browser. Over ssh it prints the line that makes the page\n"
		"reachable from your own machine. It ends when the last tab is closed.\n"
		"\n"
		"  -d, --diff BASE           compare with BASE, which was before; as BASE FILE does\n"
		"      --no-browser          print the address, open nothing\n"
		"      --port N              listen on this port of 127.0.0.1 (any that is free)\n"
		"      --socket PATH         listen on a unix socket that only you may use\n"
		"      --keep                stay until Ctrl+C\n"
		"      --source-root FOLDER  look for source files below this folder first\n"
		"      --no-source           show no source files\n"
		"  -h, --help    -v, --version\n"
		"\n"
		"heaptrack_print --html OUT FILE writes the same page as one file that opens anywhere.\n";

static bool parse_port(struct gui_options *o, struct err *err) {
	char *end;
	errno = 0;
	long port = strtol(optarg, &end, 10);
	if (errno || end == optarg || *end || port < 1 || port > 65535) {
		return err_set(err, ERR_USAGE, "--port takes a number from 1 to 65535, not \"%s\"", optarg);
	}
	o->port = (uint16_t)port;
	return true;
}

static bool parse_one(struct gui_options *o, int c, char **argv, struct err *err) {
	switch (c) {
	case 'd': o->base = optarg; break;
	case 'h': o->wants_help = true; break;
	case 'v': o->wants_version = true; break;
	case OPT_KEEP: o->stays = true; break;
	case OPT_NO_BROWSER: o->has_no_browser = true; break;
	case OPT_NO_SOURCE: o->has_no_source = true; break;
	case OPT_PORT: return parse_port(o, err);
	case OPT_SOCKET: o->socket = optarg; break;
	case OPT_SOURCE_ROOT: o->source_root = optarg; break;
	case ':': return err_set(err, ERR_USAGE, "%s needs a value", argv[optind - 1]);
	default: return err_set(err, ERR_USAGE, "there is no option %s", argv[optind - 1]);
	}
	return true;
}

bool gui_options_parse(struct gui_options *o, int argc, char **argv, struct err *err) {
	*o = (struct gui_options){0};
	opterr = 0;
	optind = 0; // getopt begins anew: `heaptrack -a` has used it
	int c;
	while ((c = getopt_long(argc, argv, ":d:hv", long_options, NULL)) != -1) {
		if (!parse_one(o, c, argv, err)) {
			return false;
		}
	}
	int n_files = argc - optind;
	if (n_files > (o->base ? 1 : 2)) {
		return err_set(err, ERR_USAGE,
				"one recording and what it is compared with: what is \"%s\"?", argv[argc - 1]);
	}
	if (n_files == 2) {
		o->base = argv[optind++];
	}
	o->file = n_files > 0 ? argv[optind] : NULL;
	if (o->base && !o->file) {
		return err_set(err, ERR_USAGE, "what is to be compared with %s?", o->base);
	}
	if (o->port && o->socket) {
		return err_set(err, ERR_USAGE, "either --port or --socket");
	}
	return true;
}
