// SPDX-License-Identifier: MIT
/* Where control sockets are, the most private place first; the abstract name always works. */
#include "collector/control/serve.h"

// ---- where a socket may be

#define FOLDER "/heaptrack"

enum { WRITABLE_BY_OTHERS = S_IWGRP | S_IWOTH };

static bool fits(int n) {
	return n > 0 && n < UNIX_NAME_BYTES;
}

size_t control_folders(struct control_place out[CONTROL_FOLDERS], uid_t uid, const char *runtime,
		const char *root) {
	size_t n = runtime && runtime[0] == '/' &&
			fits(snprintf(out[0].name, UNIX_NAME_BYTES, "%s%s" FOLDER, root, runtime));
	n += fits(snprintf(out[n].name, UNIX_NAME_BYTES, "%s/run/user/%u" FOLDER, root, (unsigned)uid));
	n += uid == 0 && fits(snprintf(out[n].name, UNIX_NAME_BYTES, "%s/run" FOLDER, root));
	return n;
}

static size_t own_folders(struct control_place out[CONTROL_FOLDERS]) {
	return control_folders(out, geteuid(), getenv("XDG_RUNTIME_DIR"), "");
}

bool control_in_folder(struct control_place *place, const struct control_place *folder, pid_t pid) {
	return fits(snprintf(place->name, sizeof place->name, "%s/%d.sock", folder->name, (int)pid));
}

static void abstract(struct control_place *place, uid_t uid, pid_t pid) {
	(void)snprintf(place->name, sizeof place->name, "@heaptrack-ctl-%u-%d", (unsigned)uid,
			(int)pid);
}

/** A folder of this user, writable for nobody else. `look`: lstat, or stat to allow a link. */
static bool is_own(const char *folder, uid_t uid, int (*look)(const char *, struct stat *)) {
	struct stat st;
	return look(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid &&
			(st.st_mode & WRITABLE_BY_OTHERS) == 0;
}

/** The runtime folder may be a link, but nobody else may replace what is in it. */
static bool make_folder(const struct control_place *folder, uid_t uid) {
	struct control_place parent = *folder;
	*strrchr(parent.name, '/') = '\0';
	return is_own(parent.name, uid, stat) && (mkdir(folder->name, 0700) == 0 || errno == EEXIST) &&
			is_own(folder->name, uid, lstat);
}

int control_listen(struct control_place *place, pid_t pid) {
	uid_t uid = geteuid();
	struct control_place folders[CONTROL_FOLDERS];
	const size_t n = own_folders(folders);
	EACH_OF_THAT(folder, folders, n,
			control_in_folder(place, folder, pid) && make_folder(folder, uid)) {
		int fd = listen_on_unix(place->name, NULL);
		if (fd >= 0) {
			return fd;
		}
	}
	abstract(place, uid, pid);
	return listen_on_abstract(place->name + 1);
}

// ---- all of this user

static void look_into(struct control_list *list, const struct control_place *folder, uid_t uid) {
	CLOSED_FOLDER *dir = is_own(folder->name, uid, lstat) ? opendir(folder->name) : NULL;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		struct control_found found = {.owner = uid, .is_own = true};
		int n = 0;
		if (sscanf(e->d_name, "%d.sock%n", &found.pid, &n) == 1 && n > 0 && !e->d_name[n] &&
				control_in_folder(&found.place, folder, found.pid)) {
			(void)vec_add(list, found);
		}
	}
}

static void look_at_abstract(struct control_list *list, uid_t uid) {
	CLOSED_FILE *file = fopen("/proc/net/unix", "re");
	FREED char *line = NULL;
	size_t size = 0;
	while (file && getline(&line, &size, file) > 0) {
		struct control_found found = {.owner = uid};
		unsigned owner;
		const char *name = strstr(line, " @heaptrack-ctl-");
		if (name && sscanf(name, " @heaptrack-ctl-%u-%d", &owner, &found.pid) == 2 &&
				owner == uid) {
			abstract(&found.place, uid, found.pid);
			// A connection has its listener's name
			if (!FIND_IN(known, *list, strcmp(known->place.name, found.place.name) == 0)) {
				(void)vec_add(list, found);
			}
		}
	}
}

void control_find_all(struct control_list *list) {
	uid_t uid = geteuid();
	struct control_place folders[CONTROL_FOLDERS];
	const size_t n = own_folders(folders);
	EACH_OF(folder, folders, n) {
		look_into(list, folder, uid);
	}
	look_at_abstract(list, uid);
}

// ---- of one program

/** Add the place if something is there. */
static void add_place(struct control_list *list, struct control_found found) {
	struct stat st;
	if (found.place.name[0] == '@' || lstat(found.place.name, &st) == 0) {
		(void)vec_add(list, found);
	}
}

static void add_folders(struct control_list *list, struct control_found found, pid_t pid,
		const char *runtime, const char *root) {
	struct control_place folders[CONTROL_FOLDERS];
	const size_t n = control_folders(folders, found.owner, runtime, root);
	EACH_OF_THAT(folder, folders, n, control_in_folder(&found.place, folder, pid)) {
		add_place(list, found);
	}
}

/** In the roots of the program and of its parent, which may be the heaptrack that launched it. */
static void look_where_it_is(struct control_list *list, struct control_found found) {
	char root[32];
	struct process_usage usage = {0};
	pid_t inside = process_pid_inside(found.pid);
	size_t n;
	FREED char *environment = process_environment(found.pid, &n);
	const char *runtime = environment ? process_variable(environment, n, "XDG_RUNTIME_DIR") : NULL;
	add_folders(list, found, found.pid, runtime, "");
	pid_t owners[] = {found.pid, process_usage(found.pid, &usage) ? usage.parent : 0};
	for (int i = 0; i < 2 && owners[i] > 0; i++) {
		(void)snprintf(root, sizeof root, "/proc/%d/root", (int)owners[i]);
		add_folders(list, found, inside, runtime, root);
	}
	abstract(&found.place, found.owner, found.pid);
	add_place(list, found);
	abstract(&found.place, found.owner, inside);
	if (inside != found.pid) {
		add_place(list, found);
	}
}

void control_find(struct control_list *list, pid_t pid) {
	struct stat st;
	struct control_found found = {.pid = pid, .owner = geteuid(), .is_own = true};
	add_folders(list, found, pid, getenv("XDG_RUNTIME_DIR"), "");
	found.is_own = false;
	abstract(&found.place, found.owner, pid);
	add_place(list, found);
	if (stat(FORMAT(32, "/proc/%d", (int)pid), &st) == 0) {
		found.owner = found.owner == 0 ? st.st_uid : found.owner;
		look_where_it_is(list, found);
	}
}
