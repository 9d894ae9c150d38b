// SPDX-License-Identifier: MIT
/*
 * v8_frames PID [IMAGE]: the JavaScript on the main thread's stack of a stopped process, a line
 * each: kind, function, file, line, separated by tabs. The innermost first.
 *
 * IMAGE receives all that was read to find that, as text: symbols, tables, frames and memory, to be
 * decoded again without the process.
 */
#include "../runtimes/v8_frame.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { GRANULE = 64, MAX_RANGES = 4096, MAX_DEPTH = 20000 };

struct range {
	uint64_t start, end, offset;
	bool is_code, is_anonymous;
	char path[256];
};

static struct range ranges[MAX_RANGES];
static size_t n_ranges;
static int pid;
static FILE *image;

// ---- memory of the process

static uint64_t *seen; // granules that were written to the image
static size_t n_seen, max_seen;

static int compare_granules(const void *a, const void *b) {
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void note_granules(uint64_t address, size_t n) {
	for (uint64_t at = address / GRANULE; at <= (address + n - 1) / GRANULE; at++) {
		if (n_seen == max_seen) {
			max_seen = max_seen * 2 + 1024;
			seen = realloc(seen, max_seen * sizeof *seen);
		}
		seen[n_seen++] = at;
	}
}

static bool read_process(void *context, uint64_t address, void *out, size_t n) {
	(void)context;
	struct iovec local = {out, n}, remote = {(void *)(uintptr_t)address, n};
	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)n) {
		return false;
	}
	if (image) {
		note_granules(address, n);
	}
	return true;
}

static uint64_t word_at(uint64_t address) {
	uint64_t word = 0;
	struct iovec local = {&word, 8}, remote = {(void *)(uintptr_t)address, 8};
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 8 ? word : 0;
}

static void write_memory(void) {
	qsort(seen, n_seen, sizeof *seen, compare_granules);
	uint64_t last = 0;
	for (size_t i = 0; i < n_seen; i++) {
		uint8_t bytes[GRANULE];
		struct iovec local = {bytes, GRANULE};
		struct iovec remote = {(void *)(uintptr_t)(seen[i] * GRANULE), GRANULE};
		if (seen[i] == last || process_vm_readv(pid, &local, 1, &remote, 1, 0) != GRANULE) {
			continue;
		}
		last = seen[i];
		fprintf(image, "m %" PRIx64 " ", seen[i] * GRANULE);
		for (int b = 0; b < GRANULE; b++) {
			fprintf(image, "%02x", bytes[b]);
		}
		fputc('\n', image);
	}
}

// ---- where things are

static void read_ranges(void) {
	char path[64], line[1024];
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	while (f && n_ranges < MAX_RANGES && fgets(line, sizeof line, f)) {
		struct range *r = &ranges[n_ranges];
		char flags[8] = "";
		unsigned long inode = 0;
		int at = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %lu %n", &r->start, &r->end,
					flags, &r->offset, &inode, &at) < 5) {
			continue;
		}
		snprintf(r->path, sizeof r->path, "%.*s", (int)strcspn(line + at, "\n"), line + at);
		r->is_code = strchr(flags, 'x') != NULL;
		// [anon:v8] is what newer versions call their own
		r->is_anonymous = inode == 0 && (r->path[0] != '[' || strncmp(r->path, "[anon", 5) == 0);
		n_ranges++;
	}
	if (f) {
		fclose(f);
	}
}

static const struct range *range_of(uint64_t address) {
	return FIND(r, ranges, n_ranges, address >= r->start && address < r->end);
}

static uint64_t bias_of(const struct elf_image *e, const struct range *first) {
	struct elf_segment s = elf_segment_of(e, 1);
	return e->type == 3 && s.type ? first->start - (s.address & ~0xfffull) : 0;
}

static void write_symbols(const struct elf_image *e) {
	struct elf_symbols all = elf_symbols_all(e);
	for (struct elf_symbol s; elf_symbols_next(&all, &s);) {
		if (strncmp(s.name, "v8dbg_", 6) != 0 && strstr(s.name, "7Version6") == NULL) {
			continue;
		}
		struct slice bytes = elf_bytes_from(e, s.address, NULL);
		int32_t value = 0;
		if (bytes.size >= 4) {
			memcpy(&value, bytes.data, 4);
		}
		if (s.section != 0) {
			fprintf(image, "s %s %d\n", s.name, value);
		}
	}
}

static void write_tables(const struct v8_layout *l) {
	fprintf(image, "b %u ", l->n_bytecodes);
	for (uint32_t i = 0; i < 3 * l->n_bytecodes; i++) {
		fprintf(image, "%02x", l->bytecode_bytes[i / l->n_bytecodes][i % l->n_bytecodes]);
	}
	fprintf(image, "\ni %" PRIx64 " %" PRIx64, l->interpreter[0], l->interpreter[1]);
	fprintf(image, "\no %u ", l->n_opcodes);
	for (uint32_t i = 0; i < l->n_opcodes; i++) {
		fprintf(image, "%02x", l->operands[i]);
	}
	fputc('\n', image);
}

/** The first mapped file with V8 in it. */
static bool find_v8(struct v8_layout *l, uint64_t *bias) {
	const struct program_memory memory = {read_process, NULL};
	for (const struct range *r = ranges; r < ranges + n_ranges; r++) {
		int fd = r->offset == 0 && r->path[0] == '/' ? open(r->path, O_RDONLY | O_CLOEXEC) : -1;
		struct stat stat;
		struct elf_image e;
		struct err err = {0};
		struct wire_layout wire;
		if (fd < 0 || fstat(fd, &stat) != 0 || stat.st_size == 0) {
			continue;
		}
		void *bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		close(fd);
		if (elf_image_init(&e, slice_of(bytes, (size_t)stat.st_size)) &&
				v8_layout_of_image(&e, l, &err) &&
				v8_layout_place(l, &e, *bias = bias_of(&e, r), &memory, &wire, &err)) {
			if (image) {
				write_symbols(&e);
				write_tables(l);
			}
			return true;
		}
		if (err.code && err.code != ERR_NOT_FOUND && err.code != ERR_FORMAT) {
			fprintf(stderr, "v8_frames: %s: %s\n", r->path, err.text);
		}
	}
	return false;
}

struct builtins {
	uint64_t start, bytes, bias;
	uint64_t copies[64];
	size_t n_copies;
};

static void find_builtins(struct builtins *b, const struct v8_layout *l, uint64_t bias) {
	uint8_t original[4096], copy[4096];
	b->start = l->builtins;
	b->bytes = l->builtins_bytes;
	b->bias = bias;
	FILE *out = image;
	image = NULL;
	bool ok = read_process(NULL, b->start, original, sizeof original);
	for (size_t i = 0; ok && i < n_ranges && b->n_copies < 64; i++) {
		const struct range *r = &ranges[i];
		if (r->is_code && r->end - r->start >= sizeof copy &&
				read_process(NULL, r->start, copy, sizeof copy) &&
				memcmp(copy, original, sizeof copy) == 0) {
			b->copies[b->n_copies++] = r->start;
		}
	}
	image = out;
}

/** The address in the image of what a builtin returns to; 0: it is in none. */
static uint64_t builtin_of(const struct builtins *b, uint64_t pc) {
	const uint64_t *copy = FIND(c, b->copies, b->n_copies, pc - *c < b->bytes);
	uint64_t at = copy ? pc - *copy : pc - b->start;
	return at < b->bytes ? at + b->start - b->bias : 0;
}

// ---- the stack

static uint64_t stack_pointer(void) {
	char path[64], line[256] = "";
	snprintf(path, sizeof path, "/proc/%d/syscall", pid);
	FILE *f = fopen(path, "r");
	uint64_t sp = 0;
	if (f && fgets(line, sizeof line, f)) {
		char *last = strrchr(line, ' ');
		if (last) {
			*last = '\0';
			last = strrchr(line, ' ');
			sp = last ? strtoull(last + 1, NULL, 16) : 0;
		}
	}
	if (f) {
		fclose(f);
	}
	return sp;
}

/** Is it a return address into code of V8's making? */
static bool is_of_v8(const struct builtins *b, uint64_t pc) {
	const struct range *r = range_of(pc);
	return builtin_of(b, pc) || (r && r->is_code && r->is_anonymous);
}

static void print_frame(struct v8_heap *h, const struct v8_frame *f) {
	static const char *const kinds[] = {"-", "internal", "wasm", "interpreted", "builtin",
			"compiled"};
	struct arena texts = {0};
	struct v8_named named[V8_MAX_FRAMES];
	uint32_t n = v8_name_frame(h, f, &texts, named);
	enum v8_kind kind = v8_frame_kind(h->layout, f);
	struct v8_code code;
	const char *name = kinds[kind];
	if (kind == V8_COMPILED && v8_code_at(h, f->pc, f->function, &code)) {
		int of = code.kind - h->layout->code_kind_baseline;
		name = of == 0 ? "baseline" : of == 1 ? "maglev" : of == 2 ? "turbofan" : "trampoline";
	}
	if (image && n) {
		fprintf(image,
				"f %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
				f->pc, f->marker, f->function, f->bytecode_array, f->bytecode_offset, f->builtin);
	}
	for (uint32_t i = 0; i < n; i++) {
		printf("%s%s\t%.*s\t%.*s\t%u\t%d\n", name, i + 1 < n ? "+" : "",
				SLICE_ARG(named[i].function), SLICE_ARG(named[i].file), named[i].line,
				named[i].is_guess);
		if (image) {
			fprintf(image, "x %.*s\t%.*s\t%u\n", SLICE_ARG(named[i].function),
					SLICE_ARG(named[i].file), named[i].line);
		}
	}
	arena_finish(&texts);
}

static uint64_t marker_of(const struct v8_layout *l, uint64_t fp) {
	return word_at(fp + (uint64_t)(int64_t)l->frame_marker);
}

static bool is_entry(const struct v8_layout *l, uint64_t fp) {
	return marker_of(l, fp) == 2 * (uint64_t)l->frame_type_entry ||
			marker_of(l, fp) == 2 * (uint64_t)l->frame_type_construct_entry;
}

/** Is it a frame that V8 made before it called C++? It has a kind, and comes from V8's code. */
static bool is_exit(const struct v8_layout *l, const struct builtins *b, uint64_t fp, uint64_t from,
		uint64_t end) {
	return fp > from && fp + 16 <= end && fp % 8 == 0 && marker_of(l, fp) % 2 == 0 &&
			marker_of(l, fp) / 2 > 2 && marker_of(l, fp) / 2 < 64 && is_of_v8(b, word_at(fp + 8));
}

/** Do frame pointers lead from it to an entry into V8? What old frames have left does not. */
static bool leads_to_entry(const struct v8_layout *l, const struct builtins *b, uint64_t fp,
		uint64_t end) {
	for (size_t n = 0; n < MAX_DEPTH; n++) {
		uint64_t next = word_at(fp);
		if (next <= fp || next + 16 > end || next % 8 != 0 || !is_of_v8(b, word_at(fp + 8))) {
			return false;
		}
		if (is_entry(l, next)) {
			return true;
		}
		fp = next;
	}
	return false;
}

/** The frame of the last call of C++, where the return address of that is next to it. */
static uint64_t first_exit(const struct v8_layout *l, const struct builtins *b, uint64_t sp,
		uint64_t end) {
	for (uint64_t at = sp & ~7ull; at + 16 <= end; at += 8) {
		if (is_of_v8(b, word_at(at + 8)) && is_exit(l, b, word_at(at), at, end) &&
				leads_to_entry(l, b, word_at(at), end)) {
			return word_at(at);
		}
	}
	return 0;
}

/** The frame of the call of C++ in which V8 was entered here: the entry has kept it. */
static uint64_t exit_before(const struct v8_layout *l, const struct builtins *b, uint64_t entry,
		uint64_t end) {
	for (uint64_t at = entry - 8; at > entry - 160; at -= 8) {
		if (is_exit(l, b, word_at(at), entry, end)) {
			return word_at(at);
		}
	}
	return 0;
}

/** By frame pointers from one call of C++ to the entry into V8 before it, and so on. */
static void walk(struct v8_heap *h, const struct builtins *b, uint64_t sp, uint64_t end) {
	const struct v8_layout *l = h->layout;
	uint64_t fp = first_exit(l, b, sp, end);
	for (size_t n = 0; fp != 0 && n < MAX_DEPTH; n++) {
		uint64_t pc = word_at(fp + 8), next = word_at(fp);
		if (next <= fp || next + 16 > end || next % 8 != 0 || !is_of_v8(b, pc)) {
			return;
		}
		struct v8_frame f = {pc, builtin_of(b, pc), marker_of(l, next),
				word_at(next + (uint64_t)(int64_t)l->frame_function),
				word_at(next + (uint64_t)(int64_t)l->frame_bytecode_array),
				word_at(next + (uint64_t)(int64_t)l->frame_bytecode_offset)};
		print_frame(h, &f);
		fp = is_entry(l, next) ? exit_before(l, b, next, end) : next;
	}
}

int main(int argc, char **argv) {
	struct v8_layout layout;
	struct builtins builtins = {0};
	uint64_t bias;
	pid = argc > 1 ? atoi(argv[1]) : 0;
	image = argc > 2 ? fopen(argv[2], "w") : NULL;
	read_ranges();
	if (pid <= 0 || !find_v8(&layout, &bias)) {
		fprintf(stderr, "v8_frames: no V8 found in process %d\n", pid);
		return 1;
	}
	find_builtins(&builtins, &layout, bias);
	struct v8_heap heap = {.layout = &layout, .memory = {read_process, NULL}};
	uint64_t sp = stack_pointer();
	const struct range *stack = range_of(sp);
	if (!stack) {
		fprintf(stderr, "v8_frames: no stack found in process %d\n", pid);
		return 1;
	}
	walk(&heap, &builtins, sp, stack->end);
	if (image) {
		write_memory();
		fclose(image);
	}
	return 0;
}
