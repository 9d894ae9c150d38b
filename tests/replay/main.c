// SPDX-License-Identifier: MIT

/**
 * replay FILE ...: read recordings made with --events, replay their single events in the slow,
 * obvious way and compare every figure with the file's. Exit status 0: all agree.
 */

#include "replay/files.h"

#include <inttypes.h>
#include <stdio.h>

static bool check_file(const char *path) {
	struct err err = {0};
	struct recording rec = {0};
	struct replay *replay = replay_create(64);
	bool ok = replay_file(path, replay, &rec, &err) && replay_agrees(replay, &rec, &err);
	if (ok) {
		printf("%s: %zu events, %" PRIu32 " edges, %" PRIu32 " intervals: all figures agree\n",
				path, replay->states.n, rec.edges.n, rec.intervals.n);
	} else {
		(void)fprintf(stderr, "%s: %s\n", path, err.text);
	}
	recording_finish(&rec);
	replay_destroy(replay);
	return ok;
}

int main(int argc, char **argv) {
	if (argc < 2) {
		(void)fprintf(stderr, "usage: replay FILE ...\n");
		return 2;
	}
	bool ok = true;
	for (int i = 1; i < argc; i++) {
		ok = check_file(argv[i]) && ok;
	}
	return ok ? 0 : 1;
}
