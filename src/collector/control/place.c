// SPDX-License-Identifier: MIT
/* Places are tried from the most private one on; the abstract name always works. */
#include "collector/control/protocol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/heaptrack"

enum { WRITABLE_BY_OTHERS = S_IWGRP | S_IWOTH };

static bool fits(int n) {
	return n > 0 && n < UNIX_NAME_BYTES;
}

bool control_folder(struct control_place *folder, int which, uid_t uid, const char *runtime,
		const char *root) {
	char *out = folder->name;
	switch (which) {
	case 0:
		return runtime && runtime[0] == '/' &&
				fits(snprintf(out, UNIX_NAME_BYTES, "%s%s" FOLDER, root, runtime));
	case 1:
		return fits(snprintf(out, UNIX_NAME_BYTES, "%s/run/user/%u" FOLDER, root, (unsigned)uid));
	case 2: return uid == 0 && fits(snprintf(out, UNIX_NAME_BYTES, "%s/run" FOLDER, root));
	default: return false;
	}
}

bool control_in_folder(struct control_place *place, const struct control_place *folder, pid_t pid) {
	return fits(snprintf(place->name, sizeof place->name, "%s/%d.sock", folder->name, (int)pid));
}

void control_abstract(struct control_place *place, uid_t uid, pid_t pid) {
	(void)snprintf(place->name, sizeof place->name, "@heaptrack-ctl-%u-%d", (unsigned)uid,
			(int)pid);
}

bool control_is_own(const char *folder, uid_t uid) {
	struct stat st;
	return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid &&
			(st.st_mode & WRITABLE_BY_OTHERS) == 0;
}

/** The runtime folder may be reached by a link, but nobody else may replace what is in it. */
static bool make_folder(const struct control_place *folder, uid_t uid) {
	struct control_place parent = *folder;
	struct stat st;
	*strrchr(parent.name, '/') = '\0';
	return stat(parent.name, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid &&
			(st.st_mode & WRITABLE_BY_OTHERS) == 0 &&
			(mkdir(folder->name, 0700) == 0 || errno == EEXIST) &&
			control_is_own(folder->name, uid);
}

int control_listen(struct control_place *place, pid_t pid) {
	uid_t uid = geteuid();
	struct control_place folder;
	for (int i = 0; i < CONTROL_FOLDERS; i++) {
		if (control_folder(&folder, i, uid, getenv("XDG_RUNTIME_DIR"), "") &&
				control_in_folder(place, &folder, pid) && make_folder(&folder, uid)) {
			int fd = listen_on_unix(place->name, NULL);
			if (fd >= 0) {
				return fd;
			}
		}
	}
	control_abstract(place, uid, pid);
	return listen_on_abstract(place->name + 1, NULL);
}
