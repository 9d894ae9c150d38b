// SPDX-License-Identifier: MIT
/* A line that begins with an address begins a mapping; "Name: 12 kB" says something of the last. */
#include "sys/smaps.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** A number in the base, and the byte behind it is skipped. */
static uint64_t take_number(char **at, int base) {
	uint64_t number = strtoull(*at, at, base);
	*at += **at != '\0';
	return number;
}

static bool begins(const char *text, const char *with) {
	return strncmp(text, with, strlen(with)) == 0;
}

static enum smaps_kind kind_of(const struct smaps_area *a) {
	if (a->name[0] == '[' && !begins(a->name, "[anon")) {
		return begins(a->name, "[heap]")    ? SMAPS_HEAP
				: begins(a->name, "[stack") ? SMAPS_STACK
											: SMAPS_KERNEL;
	}
	if (begins(a->name, "/dev/zero")) {
		return a->is_shared ? SMAPS_SHARED : SMAPS_ANONYMOUS;
	}
	if (begins(a->name, "/memfd:") || begins(a->name, "/dev/shm/") || begins(a->name, "/SYSV") ||
			begins(a->name, "[anon_shmem")) {
		return SMAPS_SHARED;
	}
	return begins(a->name, "/dev/") ? SMAPS_DEVICE : a->inode != 0 ? SMAPS_FILE : SMAPS_ANONYMOUS;
}

/** A mapping that grows while a process is read may be told once more. */
static void drop_from(struct smaps *out, uint64_t start) {
	while (out->n > 0 && out->items[out->n - 1].start >= start) {
		out->rss_bytes -= out->items[--out->n].rss_bytes;
	}
	if (out->n > 0 && out->items[out->n - 1].end > start) {
		out->items[out->n - 1].end = start;
	}
}

/** "start-end rwxp offset major:minor inode      name" */
static bool begin_area(struct smaps *out, char *line) {
	uint64_t start = take_number(&line, 16);
	drop_from(out, start);
	struct smaps_area *a = vec_push(out);
	if (!a) {
		return false;
	}
	a->start = start;
	a->end = take_number(&line, 16);
	if (strlen(line) > 4) {
		a->is_writable = line[1] == 'w';
		a->is_executable = line[2] == 'x';
		a->is_shared = line[3] == 's';
		line += 5;
	}
	a->offset = take_number(&line, 16);
	(void)take_number(&line, 16);
	(void)take_number(&line, 16);
	a->inode = take_number(&line, 10);
	line += strspn(line, " ");
	a->name = line[0] != '\0' ? arena_text(&out->names, slice_of_text(line)) : "";
	if (a->name) {
		a->kind = kind_of(a);
	}
	return a->name != NULL;
}

static uint64_t *field_of(struct smaps_area *a, const char *name, size_t n) {
	const struct {
		const char *name;
		uint64_t *field;
	} fields[] = {{"Rss", &a->rss_bytes}, {"Pss", &a->pss_bytes},
			{"Anonymous", &a->anonymous_bytes}, {"Shared_Clean", &a->shared_clean_bytes},
			{"Shared_Dirty", &a->shared_dirty_bytes}, {"Swap", &a->swap_bytes},
			{"LazyFree", &a->lazy_free_bytes}, {"AnonHugePages", &a->huge_bytes}};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (strlen(fields[i].name) == n && memcmp(fields[i].name, name, n) == 0) {
			return fields[i].field;
		}
	}
	return NULL;
}

bool smaps_take_line(struct smaps *out, char *line) {
	char *colon = strchr(line, ':');
	if (line[0] < 'A' || line[0] > 'Z') { // addresses are written in small letters
		return begin_area(out, line);
	}
	if (!colon || out->n == 0) {
		return true;
	}
	struct smaps_area *a = &out->items[out->n - 1];
	if (begins(line, "VmFlags")) {
		a->is_hugetlb = strstr(colon, " ht") != NULL;
		a->kind = strstr(colon, " pf") || strstr(colon, " io") ? SMAPS_DEVICE : a->kind;
		return true;
	}
	uint64_t *field = field_of(a, line, (size_t)(colon - line));
	if (field) {
		*field = strtoull(colon + 1, NULL, 10) * 1024;
		out->rss_bytes += field == &a->rss_bytes ? *field : 0;
	}
	return true;
}

static bool read_file(struct smaps *out, pid_t pid, const char *name) {
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	bool ok = file != NULL;
	for (ssize_t n; ok && (n = getline(&line, &room, file)) > 0;) {
		line[n - (line[n - 1] == '\n')] = '\0';
		ok = smaps_take_line(out, line);
	}
	ok = ok && !ferror(file) && out->n > 0;
	free(line);
	if (file) {
		(void)fclose(file);
	}
	return ok;
}

bool smaps_read(struct smaps *out, pid_t pid) {
	return read_file(out, pid, "smaps");
}

bool smaps_read_maps(struct smaps *out, pid_t pid) {
	return read_file(out, pid, "maps");
}

void smaps_finish(struct smaps *s) {
	vec_finish(s);
	arena_finish(&s->names);
	s->rss_bytes = 0;
}
