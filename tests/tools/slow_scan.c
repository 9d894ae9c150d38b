// SPDX-License-Identifier: MIT
/*
 * Searches all memory of a process that stands still for pointers to blocks, slowly and obviously:
 * slow_scan PID BLOCKS. A line of BLOCKS is "ADDRESS BYTES IS_ACCUSED", by rising address, or
 * "word VALUE", which a register has.
 *
 * Each byte of each page that is in memory may begin a pointer, and each address from the start of
 * a block to one past its end points to it. Memory counts that is not itself an accused block, and
 * not the free memory of glibc's malloc: what is between the blocks of its heaps. Stacks do not
 * count below their stack pointers, nor heaptrack's own memory.
 *
 * Prints each pointer to an accused block, then what was searched. It knows nothing of heaptrack's
 * way to search.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, HEAP = 64 << 20, SHOWN = 20, RED_ZONE = 128, MOST_DEAD = 100000 };

struct block {
	uint64_t start, bytes;
	bool is_accused, has_pointer;
};
struct range {
	uint64_t start, end;
	bool is_readable, is_ours, is_libc, is_heap;
	char name[256];
};

static struct block *blocks;
static size_t n_blocks;
static struct range *maps;
static size_t n_maps;
static struct range dead[MOST_DEAD]; // free memory of malloc's heaps, with blocks; dead stacks
static size_t n_dead;
static uint64_t low, high, n_pages, n_found;
static int memory;
static const char *pid;

static FILE *open_proc(const char *name) {
	char path[400];
	(void)snprintf(path, sizeof path, "/proc/%s/%.300s", pid, name);
	FILE *f = fopen(path, "r");
	if (!f) {
		perror(path);
		exit(2);
	}
	return f;
}

static uint64_t word_at(uint64_t at) {
	uint64_t word = 0;
	return pread(memory, &word, sizeof word, (off_t)at) == sizeof word ? word : 0;
}

static void read_maps(void) {
	FILE *f = open_proc("maps");
	char line[1000], flags[5];
	bool was_ours = false;
	while (fgets(line, sizeof line, f)) {
		struct range r = {0};
		(void)sscanf(line, "%lx-%lx %4s %*s %*s %*s %255[^\n]", &r.start, &r.end, flags, r.name);
		bool follows = n_maps > 0 && maps[n_maps - 1].end == r.start && !*r.name &&
				!strstr(maps[n_maps - 1].name, "memfd:"); // the bss of a library
		was_ours = strstr(r.name, "libheaptrack_") || strstr(r.name, "heaptrack.segment") ||
				strstr(r.name, "memfd:heaptrack") || strstr(r.name, "anon:heaptrack") ||
				(was_ours && follows);
		r.is_ours = was_ours;
		r.is_libc = strstr(r.name, "/libc.so") != NULL;
		r.is_heap = strcmp(r.name, "[heap]") == 0;
		r.is_readable = strncmp(r.name, "[v", 2) != 0 && strncmp(r.name, "/dev/dri", 8) != 0;
		maps = realloc(maps, (n_maps + 1) * sizeof *maps);
		maps[n_maps++] = r;
	}
	(void)fclose(f);
}

static struct range *map_of(uint64_t at) {
	for (size_t i = 0; i < n_maps; i++) {
		if (at >= maps[i].start && at < maps[i].end) {
			return &maps[i];
		}
	}
	return NULL;
}

static void add_dead(uint64_t start, uint64_t end) {
	for (size_t i = 0; i < n_dead; i++) {
		if (dead[i].start == start) {
			return;
		}
	}
	if (n_dead == MOST_DEAD) {
		(void)fprintf(stderr, "slow_scan: too many heaps\n");
		exit(2);
	}
	dead[n_dead++] = (struct range){.start = start, .end = end};
}

/** The heaps of glibc's malloc, by [heap] and by the headers of its chunks. */
static void find_heaps(void) {
	enum { MAPPED = 2, OTHER_ARENA = 4, FLAGS = 7 };
	for (size_t i = 0; i < n_maps; i++) {
		if (strstr(maps[i].name, "jemalloc")) {
			return;
		}
	}
	for (size_t i = 0; i < n_maps; i++) {
		if (maps[i].is_heap) {
			add_dead(maps[i].start, maps[i].end);
		}
		// An arena's further heap has no block of its own, perhaps: its arena lies in a heap
		uint64_t base = maps[i].start,
				 arena = base % HEAP == 0 && !*maps[i].name ? word_at(base) : 0;
		uint64_t bytes = word_at(base + 16);
		if (arena > base && arena < base + HEAP && bytes > 0 && bytes <= HEAP) {
			add_dead(base, base + bytes);
		}
	}
	for (size_t i = 0; i < n_blocks; i++) {
		uint64_t start = blocks[i].start, size = word_at(start - 8), base = start & -(uint64_t)HEAP;
		struct range *map = map_of(start);
		if (start % 16 != 0 || !map || map->is_heap || *map->name) {
			continue;
		}
		if (size & MAPPED && (start - 16 - word_at(start - 16)) % PAGE == 0 &&
				(word_at(start - 16) + (size & -(uint64_t)(FLAGS + 1))) % PAGE == 0) {
			uint64_t begin = start - 16 - word_at(start - 16);
			add_dead(begin, start - 16 + (size & -(uint64_t)(FLAGS + 1)));
		} else if (size & OTHER_ARENA && word_at(base + 16) <= HEAP && word_at(base + 16) > 0) {
			add_dead(base, base + word_at(base + 16));
		}
	}
}

/** What is below the stack pointers, which the kernel tells. */
static void find_dead_stacks(void) {
	char name[300], line[300];
	(void)snprintf(name, sizeof name, "/proc/%s/task", pid);
	DIR *tasks = opendir(name);
	for (struct dirent *e; tasks && (e = readdir(tasks));) {
		if (e->d_name[0] == '.') {
			continue;
		}
		(void)snprintf(name, sizeof name, "task/%s/syscall", e->d_name);
		FILE *f = open_proc(name);
		uint64_t words[9] = {0};
		long number = -1;
		int n = fgets(line, sizeof line, f)
				? sscanf(line, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &number, &words[0], &words[1],
						  &words[2], &words[3], &words[4], &words[5], &words[6], &words[7])
				: 0;
		uint64_t sp = n < 3 ? 0 : words[n - 3];
		struct range *map = map_of(sp);
		printf("stack %lx %s\n", sp, e->d_name);
		if (map && !map->is_heap) {
			add_dead(map->start, sp - (number < 0 ? RED_ZONE : 0));
		}
		(void)fclose(f);
	}
	if (tasks) {
		(void)closedir(tasks);
	}
}

static struct block *block_of(uint64_t word) {
	size_t begin = 0, end = n_blocks;
	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		if (blocks[middle].start <= word) {
			begin = middle + 1;
		} else {
			end = middle;
		}
	}
	return begin > 0 && word <= blocks[begin - 1].start + blocks[begin - 1].bytes
			? &blocks[begin - 1]
			: NULL;
}

/** `from`: the block that the word lies in, or NULL; `map`: what else it lies in, or NULL. */
static void take(uint64_t word, uint64_t at, const struct block *from, const struct range *map) {
	struct block *b = word - low <= high - low ? block_of(word) : NULL;
	if (!b || b == from || (from && from->is_accused)) {
		return;
	}
	// libc's lists of free chunks: their headers begin in the last word of the block before
	bool is_chunk = map && (map->is_libc || (map > maps && map[-1].is_libc)) && word % 16 == 0 &&
			word > b->start && word + 8 >= b->start + b->bytes;
	if (is_chunk) {
		return;
	}
	b->has_pointer = true;
	if (b->is_accused) {
		n_found++;
		if (n_found <= SHOWN) {
			printf("pointer at %lx in %s to block %lx of %lu bytes, at %ld\n", at,
					from          ? "a block"
							: map ? *map->name ? map->name : "memory without a name"
								  : "a register",
					b->start, b->bytes, (long)(word - b->start));
		}
	}
}

static const struct range *dead_at(uint64_t at) {
	for (size_t i = 0; i < n_dead; i++) {
		if (at >= dead[i].start && at < dead[i].end) {
			return &dead[i];
		}
	}
	return NULL;
}

/** Of a page, and of the seven bytes behind it if the next one is in memory. */
static void scan_page(const struct range *map, uint64_t page, bool has_next) {
	uint8_t bytes[PAGE + 8] = {0};
	size_t n = PAGE + (has_next ? 7 : 0);
	if (pread(memory, bytes, n, (off_t)page) != (ssize_t)n) {
		printf("unread %lx %s\n", page, map->name);
		return;
	}
	n_pages++;
	for (size_t i = 0; i + 8 <= n; i++) {
		uint64_t word;
		memcpy(&word, bytes + i, sizeof word);
		if (word - low > high - low) {
			continue;
		}
		// A word counts if any byte of it lies in memory that does
		for (uint64_t at = page + i; at <= page + i + 7; at += 7) {
			const struct block *from = block_of(at);
			from = from && at < from->start + from->bytes ? from : NULL;
			if (from || !dead_at(at)) {
				take(word, page + i, from, map);
			}
		}
	}
}

static void scan_map(const struct range *map, int pagemap) {
	enum { AT_ONCE = 512 };
	uint64_t entries[AT_ONCE + 1];
	for (uint64_t at = map->start; at < map->end; at += AT_ONCE * PAGE) {
		size_t most = (map->end - at) / PAGE;
		most = most < AT_ONCE + 1 ? most : AT_ONCE + 1;
		ssize_t n = pread(pagemap, entries, most * 8, (off_t)(at / PAGE * 8));
		for (size_t i = 0; i < AT_ONCE && (ssize_t)(i * 8) < n; i++) {
			bool has_next = (ssize_t)((i + 1) * 8) < n && entries[i + 1] >> 62;
			if (entries[i] >> 62) { // present or swapped
				scan_page(map, at + i * PAGE, has_next);
			}
		}
	}
}

/** What epoll keeps for the process. */
static void scan_kernels(void) {
	char name[300], line[500];
	(void)snprintf(name, sizeof name, "/proc/%s/fdinfo", pid);
	DIR *files = opendir(name);
	for (struct dirent *e; files && (e = readdir(files));) {
		(void)snprintf(name, sizeof name, "fdinfo/%s", e->d_name);
		FILE *f = e->d_name[0] != '.' ? open_proc(name) : NULL;
		while (f && fgets(line, sizeof line, f)) {
			const char *data = strstr(line, "tfd:") ? strstr(line, "data:") : NULL;
			if (data) {
				take(strtoull(data + 5, NULL, 16), 0, NULL, NULL);
			}
		}
		if (f) {
			(void)fclose(f);
		}
	}
	if (files) {
		(void)closedir(files);
	}
}

int main(int argc, char **argv) {
	if (argc != 3) {
		return 2;
	}
	pid = argv[1];
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/%s/mem", pid);
	memory = open(path, O_RDONLY);
	(void)snprintf(path, sizeof path, "/proc/%s/pagemap", pid);
	int pagemap = open(path, O_RDONLY);
	FILE *f = fopen(argv[2], "r");
	if (memory < 0 || pagemap < 0 || !f) {
		perror("slow_scan");
		return 2;
	}
	char line[200];
	uint64_t *words = malloc(1 << 20);
	size_t n_words = 0;
	while (fgets(line, sizeof line, f)) {
		struct block b = {0};
		int is_accused;
		if (sscanf(line, "word %lu", &words[n_words]) == 1) {
			n_words += n_words + 1 < (1 << 20) / sizeof *words;
		} else if (sscanf(line, "%lu %lu %d", &b.start, &b.bytes, &is_accused) == 3) {
			b.is_accused = is_accused;
			if (n_blocks % 4096 == 0) {
				blocks = realloc(blocks, (n_blocks + 4096) * sizeof *blocks);
			}
			blocks[n_blocks++] = b;
		}
	}
	(void)fclose(f);
	if (n_blocks == 0) {
		return 2;
	}
	low = blocks[0].start;
	high = blocks[n_blocks - 1].start + blocks[n_blocks - 1].bytes;
	read_maps();
	find_heaps();
	find_dead_stacks();
	for (size_t i = 0; i < n_maps; i++) {
		if (maps[i].is_readable && !maps[i].is_ours) {
			scan_map(&maps[i], pagemap);
		}
	}
	for (size_t i = 0; i < n_words; i++) {
		take(words[i], 0, NULL, NULL);
	}
	scan_kernels();
	size_t n_accused = 0, n_pointed = 0, n_others = 0;
	for (size_t i = 0; i < n_blocks; i++) {
		n_accused += blocks[i].is_accused;
		n_pointed += blocks[i].is_accused && blocks[i].has_pointer;
		n_others += !blocks[i].is_accused && blocks[i].has_pointer;
	}
	printf("accused %zu pointed %zu blocks %zu with_pointer %zu pages %lu\n", n_accused, n_pointed,
			n_blocks, n_others, n_pages);
	return 0;
}
