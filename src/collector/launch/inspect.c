// SPDX-License-Identifier: MIT
/*
 * Judges a program before it is started, by its file. A script is judged by its interpreter, maybe
 * a script again. What is executed first decides whether to inject the recorder; what env(1) then
 * executes must preload it.
 */
#include "collector/launch/parts.h"

#include <sys/xattr.h>

enum { MAX_SCRIPTS = 5 }; // the kernel's limit: a script of a script of ...

ATTR_PRINTF(4, 5)
static enum launch_verdict say(struct launch *l, enum launch_verdict verdict, int status,
		const char *fmt, ...) {
	char text[PATH_MAX + 512];
	(void)FORMAT_ARGS(text, sizeof text, fmt);
	l->verdict = verdict;
	l->exit_status = status;
	l->why = arena_text(l->arena, slice_of_text(text));
	return verdict;
}

// The first executable of this name in PATH's folders; else the first file
static bool find_in_path(const char *name, char *out) {
	const char *path = getenv("PATH");
	char candidate[PATH_MAX];
	bool found = false;
	for (const char *at = path ? path : "/bin:/usr/bin"; at;) {
		const char *end = strchrnul(at, ':');
		int n = snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)(end - at), at,
				end > at ? "/" : "", name);
		struct stat s;
		if (n < (int)sizeof candidate && stat(candidate, &s) == 0 && S_ISREG(s.st_mode)) {
			bool runs = access(candidate, X_OK) == 0;
			if (runs || !found) {
				strcpy(out, candidate);
				found = true;
			}
			if (runs) {
				return true;
			}
		}
		at = *end ? end + 1 : NULL;
	}
	return found;
}

static bool gains_rights(int fd, const struct stat *s, const char **how) {
	char capabilities[64];
	bool is_set_uid = (s->st_mode & S_ISUID) &&
			s->st_uid != getuid(); // root gains nothing by its own
	bool is_set_gid = (s->st_mode & S_ISGID) && (s->st_mode & S_IXGRP) && s->st_gid != getgid();
	bool is_given_more = geteuid() != 0 &&
			fgetxattr(fd, "security.capability", capabilities, sizeof capabilities) > 0;
	*how = is_set_uid ? "set-uid" : is_set_gid ? "set-gid" : "given file capabilities";
	return is_set_uid || is_set_gid || is_given_more;
}

static bool starts_others(const char *path) {
	static const char *const names[] = {"su", "sudo", "doas", "pkexec", "runuser", "newgrp", "sg"};
	return ANY(i, N_OF(names), strcmp(path_base_name(path), names[i]) == 0);
}

static enum launch_verdict note_image(struct launch *l, const char *path,
		enum launch_verdict verdict) {
	char real[PATH_MAX];
	l->verdict = verdict;
	if (!l->image && realpath(path, real)) {
		l->image = arena_text(l->arena, slice_of_text(real));
	}
	return verdict;
}

static enum launch_verdict judge_elf(struct launch *l, const char *path,
		const struct launch_elf *elf) {
	const char *machine = launch_machine_name(elf->machine);
	if (elf->is_torn) {
		return say(l, LAUNCH_REFUSED, 126, "\"%s\" is a damaged executable", path);
	}
	if (!elf->is_ours && !elf->is_64_bit) {
		return say(l, LAUNCH_UNRECORDED, 126,
				"\"%s\" is a 32-bit program (%s), which cannot be recorded", path, machine);
	}
	if (!elf->is_ours) {
		return say(l, LAUNCH_REFUSED, 126,
				"\"%s\" is built for another machine (%s) and cannot run here", path, machine);
	}
	if (elf->has_loader && elf->loader[0] && access(elf->loader, F_OK) != 0) {
		return say(l, LAUNCH_REFUSED, 127, "\"%s\" needs the loader \"%s\", which is not installed",
				path, elf->loader);
	}
	if (elf->is_go) {
		return say(l, LAUNCH_UNRECORDED, 0,
				"\"%s\" is a Go program: its runtime does not allocate through malloc, so there "
				"is nothing to record; use Go's own profiler (runtime/pprof)",
				path);
	}
	if (!elf->has_loader && !elf->is_loader) {
		return note_image(l, path, LAUNCH_INJECTED);
	}
	if (elf->sanitizer) {
		return say(l, LAUNCH_UNRECORDED, 0,
				"\"%s\" is built with %s, which heaptrack cannot record; build it with "
				"-fsanitize=address, or without -fsanitize",
				path, elf->sanitizer);
	}
	if (strncmp(path_base_name(elf->loader), "ld-musl", 7) == 0) {
		return note_image(l, path, LAUNCH_INJECTED);
	}
	l->has_loader = !elf->is_loader && elf->has_allocator;
	return note_image(l, path, l->has_loader ? LAUNCH_INJECTED : LAUNCH_RECORDED);
}

static enum launch_verdict judge_file(struct launch *l, const char *path, int depth);

static enum launch_verdict judge_named(struct launch *l, const char *name, const char *user,
		int depth) {
	char path[PATH_MAX];
	if (strchr(name, '/')) {
		(void)snprintf(path, sizeof path, "%s", name);
	} else if (!find_in_path(name, path)) {
		return say(l, LAUNCH_REFUSED, 127, "\"%s\" needs \"%s\", which is not in PATH", user, name);
	}
	if (access(path, F_OK) != 0) {
		return say(l, LAUNCH_REFUSED, 127,
				"\"%s\" needs the interpreter \"%s\", which does not exist", user, path);
	}
	return judge_file(l, path, depth);
}

// Not the first program to be executed: it must load the recorder itself
static enum launch_verdict judge_second(struct launch *l, const char *name, const char *user,
		int depth) {
	if (judge_named(l, name, user, depth) == LAUNCH_INJECTED && !l->has_loader) {
		return say(l, LAUNCH_UNRECORDED, 0, "its interpreter \"%s\" cannot load the recorder",
				name);
	}
	return l->verdict = l->verdict == LAUNCH_INJECTED ? LAUNCH_RECORDED : l->verdict;
}

// "#! /usr/bin/env node": env is loaded first, but node is what counts
static enum launch_verdict judge_script(struct launch *l, const char *path, char *line, int depth) {
	if (depth >= MAX_SCRIPTS) {
		return say(l, LAUNCH_REFUSED, 126, "\"%s\": too many nested script interpreters", path);
	}
	line[strcspn(line, "\n")] = 0;
	char *rest = line + 2;
	rest += strspn(rest, " \t");
	char *interpreter = strsep(&rest, " \t");
	if (!*interpreter) {
		l->needs_shell = depth == 0; // the kernel refuses it, execvp gives it to the shell
		return judge_named(l, "/bin/sh", path, depth + 1);
	}
	if (judge_named(l, interpreter, path, depth + 1) != LAUNCH_RECORDED || !rest ||
			strcmp(path_base_name(interpreter), "env") != 0) {
		return l->verdict;
	}
	rest += strspn(rest, " \t");
	if (strncmp(rest, "-S", 2) == 0) {
		rest += 2 + strspn(rest + 2, " \t");
	}
	char *name = strsep(&rest, " \t");
	if (!*name || *name == '-' || strchr(name, '=')) {
		return l->verdict; // more than a name: env is judged
	}
	return judge_second(l, name, path, depth + 1);
}

static enum launch_verdict judge_open_file(struct launch *l, const char *path, int fd, int depth) {
	struct stat s;
	const char *how;
	if (fstat(fd, &s) == 0 && gains_rights(fd, &s, &how)) {
		l->gains_rights = true;
		if (starts_others(path)) {
			return say(l, LAUNCH_REFUSED, 126,
					"\"%s\" is %s, so the system does not load the recorder; run heaptrack on "
					"the program that it starts, as in: su USER -c 'heaptrack PROGRAM'",
					path, how);
		}
		return say(l, LAUNCH_REFUSED, 126,
				"\"%s\" is %s, so the system does not load the recorder; record a plain copy: cp "
				"\"%s\" /tmp/ && heaptrack \"/tmp/%s\"",
				path, how, path, path_base_name(path));
	}
	char line[512] = "";
	size_t got;
	(void)file_read_at(fd, 0, line, sizeof line - 1, &got, NULL);
	if (got >= 2 && line[0] == '#' && line[1] == '!') {
		return judge_script(l, path, line, depth);
	}
	struct launch_elf elf;
	launch_elf_read(&elf, fd);
	if (elf.is_elf) {
		return judge_elf(l, path, &elf);
	}
	l->needs_shell = depth == 0;
	return depth < MAX_SCRIPTS ? judge_named(l, "/bin/sh", path, depth + 1) : l->verdict;
}

static enum launch_verdict judge_file(struct launch *l, const char *path, int depth) {
	struct stat s;
	if (stat(path, &s) != 0) {
		return say(l, LAUNCH_REFUSED, errno == EACCES ? 126 : 127, "\"%s\": %s", path,
				strerror(errno));
	}
	if (S_ISDIR(s.st_mode)) {
		return say(l, LAUNCH_REFUSED, 126, "\"%s\" is a folder, not a program", path);
	}
	if (!S_ISREG(s.st_mode) || access(path, X_OK) != 0) {
		return say(l, LAUNCH_REFUSED, 126,
				"\"%s\" is not executable; if it is a program, run: chmod +x \"%s\"", path, path);
	}
	CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return l->verdict = LAUNCH_RECORDED; // executable but unreadable: assume the best
	}
	return judge_open_file(l, path, fd, depth);
}

void launch_inspect(struct launch *out, const char *program, struct arena *arena) {
	*out = (struct launch){.arena = arena};
	char path[PATH_MAX] = "";
	if (strlen(program) >= sizeof path) {
		(void)say(out, LAUNCH_REFUSED, 126, "the program's name is too long");
		return;
	}
	strcpy(path, program);
	if (!*program || (!strchr(program, '/') && !find_in_path(program, path))) {
		(void)say(out, LAUNCH_REFUSED, 127, "\"%s\" not found in PATH%s", program,
				*program && access(program, F_OK) == 0
						? "; to run the one in this folder, put ./ before its name"
						: "");
	} else if (access(path, F_OK) != 0 && errno == ENOENT) {
		(void)say(out, LAUNCH_REFUSED, 127, "no such file: \"%s\"", path);
	} else {
		(void)judge_file(out, path, 0);
	}
	out->path = arena_text(arena, slice_of_text(path));
}
