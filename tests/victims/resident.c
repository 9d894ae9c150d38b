// SPDX-License-Identifier: MIT

/**
 * Ways to have resident memory: resident WAY [wait|SECONDS]. It makes some 40 MB in one way, prints as
 * JSON what it knows of it, and ends; with "wait", when it gets SIGTERM. What it notes itself is in its
 * bss. `rss` is the sum of its own smaps.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OURS __attribute__((noinline))
enum { MIB = 1 << 20, THREADS = 32, BLOCKS_MOST = 1 << 18, PAGES_MOST = 1 << 16 };
enum { STACK_THREADS = 16, DEEP = 2 * MIB, TOUCHED = 1000 };

static size_t page;
static char *blocks[BLOCKS_MOST];
static uint64_t pages[2 * PAGES_MOST];
static size_t n_pages;
static pthread_barrier_t all_done;
static char big[24 * MIB], output[4096];

// ---- what is resident

/** Is this page in memory, as the kernel says? */
static bool is_there(uint64_t at) {
	static int fd = -1;
	uint64_t word = 0;
	fd = fd < 0 ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : fd;
	return pread(fd, &word, sizeof word, (off_t)(at / page * sizeof word)) == sizeof word &&
			word >> 63 != 0;
}

static void note(const char *block, size_t bytes, bool is_live) {
	uint64_t first = (uintptr_t)block / page, last = ((uintptr_t)block + bytes - 1) / page;
	for (uint64_t at = first; at <= last && n_pages < sizeof pages / sizeof *pages; at++) {
		if (n_pages == 0 || pages[n_pages - 1] != at << 1 || is_live) {
			pages[n_pages++] = at << 1 | is_live;
		}
	}
}

/** (qsort would ask malloc for memory.) */
static void sort_pages(void) {
	for (size_t gap = n_pages / 2; gap > 0; gap = gap / 11 * 5 + (gap > 1 && gap < 11)) {
		for (size_t i = gap; i < n_pages; i++) {
			uint64_t one = pages[i];
			size_t k = i;
			for (; k >= gap && pages[k - gap] > one; k -= gap) {
				pages[k] = pages[k - gap];
			}
			pages[k] = one;
		}
	}
}

/** Resident bytes of the noted pages, with or without live blocks. */
static uint64_t noted_bytes(bool with_live) {
	uint64_t sum = 0;
	sort_pages();
	for (size_t i = 0, k; i < n_pages; i = k) {
		bool has_live = false;
		for (k = i; k < n_pages && pages[k] >> 1 == pages[i] >> 1; k++) {
			has_live |= pages[k] & 1;
		}
		sum += has_live == with_live && is_there((pages[i] >> 1) * page) ? page : 0;
	}
	return sum;
}

/** The sum of a field of smaps, of the mapping at an address or of all. */
static uint64_t smaps(const char *field, const void *of) {
	char line[512], format[64];
	uint64_t start = 0, end = 0, sum = 0, kib;
	FILE *f = fopen("/proc/self/smaps", "r");
	(void)snprintf(format, sizeof format, "%s: %%" SCNu64, field);
	while (f && fgets(line, sizeof line, f)) {
		(void)sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end);
		bool is_it = !of || ((uintptr_t)of >= start && (uintptr_t)of < end);
		sum += is_it && sscanf(line, format, &kib) == 1 ? kib * 1024 : 0;
	}
	if (f) {
		(void)fclose(f);
	}
	return sum;
}

static void touch(char *at, size_t bytes) {
	for (size_t i = 0; i < bytes; i += page) {
		((volatile char *)at)[i] = 1;
	}
}

static char *checked(void *at) {
	if (at == MAP_FAILED || at == NULL) {
		perror("resident");
		_exit(3);
	}
	return at;
}

OURS static char *map_cache(size_t bytes) {
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return checked(at);
}

/** What tcmalloc has for itself, from the text in which alone it says that. */
static size_t tcmalloc_metadata(void) {
	static char text[8192];
	void (*stats)(char *, int) = dlsym(RTLD_DEFAULT, "MallocExtension_GetStats");
	size_t bytes = 0;
	if (stats) {
		stats(text, sizeof text);
		char *line = strstr(text, "Bytes in malloc metadata");
		while (line && line > text && line[-1] != '\n') {
			line--;
		}
		bytes = line && strchr(line, '+') ? strtoull(strchr(line, '+') + 1, NULL, 10) : 0;
	}
	return bytes;
}

/**
 * What the allocator itself says that it keeps: "kept" is not in blocks, "tables" what it needs
 * itself; both are said to be in memory.
 */
static void say_kept(void) {
	int (*mallctl)(const char *, void *, size_t *, void *, size_t) = dlsym(RTLD_DEFAULT, "mallctl");
	int (*property)(const char *, size_t *) = dlsym(RTLD_DEFAULT,
			"MallocExtension_GetNumericProperty");
	const char *name = mallctl ? "jemalloc" : property ? "tcmalloc" : "mimalloc";
	size_t all = 0, used = 0, tables = 0, given_back = 0, n = sizeof all;
	uint64_t epoch = 1;
	if (mallctl) {
		(void)mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
		(void)mallctl("stats.resident", &all, &n, NULL, 0);
		(void)mallctl("stats.metadata", &tables, &n, NULL, 0);
		(void)mallctl("stats.allocated", &used, &n, NULL, 0);
		all -= tables;
	} else if (property) {
		(void)property("generic.heap_size", &all);
		(void)property("tcmalloc.pageheap_unmapped_bytes", &given_back);
		(void)property("generic.current_allocated_bytes", &used);
		tables = tcmalloc_metadata();
	} else if (!dlsym(RTLD_DEFAULT, "mi_malloc")) {
		name = "glibc";
		all = mallinfo2().fordblks;
	}
	printf("\"allocator\": \"%s\", \"kept\": %zu, \"tables\": %zu, ", name, all - used - given_back,
			tables);
}

// ---- ways: each prints the members of "parts" that it knows, and perhaps others behind them

static void say(const char *part, uint64_t bytes) {
	printf("\"parts\": {\"%s\": %" PRIu64 "}, ", part, bytes);
}

OURS static char *make_block(size_t bytes) {
	char *block = checked(malloc(bytes));
	memset(block, 1, bytes);
	return block;
}

/** Of n blocks every `keep`th one stays, and the last. */
static void make_and_free(size_t first, size_t n, size_t bytes, size_t keep) {
	for (size_t i = first; i < first + n; i++) {
		blocks[i] = make_block(bytes);
	}
	for (size_t i = first; i + 1 < first + n; i++) {
		if (keep == 0 || (i - first) % keep != 0) {
			free(blocks[i]);
		}
	}
}

static void note_all(size_t first, size_t n, size_t bytes, size_t keep) {
	for (size_t i = first; i < first + n; i++) {
		bool is_live = i + 1 == first + n || (keep != 0 && (i - first) % keep == 0);
		note(blocks[i], bytes, is_live);
	}
}

static void kept(void) {
	make_and_free(0, 60000, 1000, 0);
	note_all(0, 60000, 1000, 0);
	say("heap_free", noted_bytes(false));
	say_kept();
}

static void *use_arena(void *number) {
	make_and_free((uintptr_t)number * 2000, 2000, 600, 0);
	pthread_barrier_wait(&all_done);
	pause();
	return NULL;
}

static void start_threads(size_t n, void *(*run)(void *), size_t stack_bytes) {
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	pthread_barrier_init(&all_done, NULL, (unsigned)n + 1);
	for (size_t i = 0; i < n; i++) {
		pthread_t thread;
		if (pthread_create(&thread, &attributes, run, (void *)(uintptr_t)i) != 0) {
			_exit(4);
		}
	}
	pthread_barrier_wait(&all_done);
}

static void arenas(void) {
	start_threads(THREADS, use_arena, 256 << 10);
	note_all(0, THREADS * 2000, 600, 0);
	for (size_t i = 1; i <= THREADS; i++) {
		note(blocks[i * 2000 - 1], 600, true);
	}
	say("heap_free", noted_bytes(false));
	say_kept();
}

/** Small blocks, far from each other, each on a page that is free otherwise. */
static void pinned(void) {
	enum { N = 240000, BYTES = 120, KEEP = 40 };
	make_and_free(0, N, BYTES, KEEP);
	note_all(0, N, BYTES, KEEP);
	uint64_t live = (N / KEEP + 1) * (uint64_t)BYTES, at = noted_bytes(true);
	printf("\"parts\": {\"heap_live\": %" PRIu64 ", \"heap_partly_free+heap_rounding\": %" PRIu64
		   ", \"heap_free\": %" PRIu64 "}, ",
			live, at - live, noted_bytes(false));
	say_kept();
}

static void live(void) {
	for (size_t i = 0; i < 40000; i++) {
		blocks[i] = make_block(1000);
	}
	say("heap_live", 40000 * 1000);
}

static void cache(void) {
	touch(map_cache(48 * MIB), 40 * MIB);
	say("mapped", 40 * MIB);
	printf("\"maker\": \"map_cache\", ");
}

/** What was read only is the kernel's page of zeros, and takes no memory. */
static void zeros(void) {
	char *at = map_cache(60 * MIB);
	uint64_t sum = 0;
	(void)madvise(at, 60 * MIB, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < 60 * MIB; i += page) {
		sum += (uint64_t)((volatile char *)at)[i];
	}
	touch(at + 10 * MIB, 20 * MIB);
	say("mapped", sum + 20 * MIB);
	printf("\"maker\": \"map_cache\", ");
}

static void raw(void) {
#if defined __x86_64__
	register long r10 __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS;
	register long r8 __asm__("r8") = -1;
	register long r9 __asm__("r9") = 0;
	long at;
	__asm__ volatile("syscall"
					 : "=a"(at)
					 : "a"((long)SYS_mmap), "D"(0L), "S"(40L * MIB),
					 "d"((long)(PROT_READ | PROT_WRITE)), "r"(r10), "r"(r8), "r"(r9)
					 : "rcx", "r11", "memory");
	touch((char *)at, 40 * MIB);
	say("unknown+mapped", 40 * MIB);
#else
	say("unknown+mapped", 0);
#endif
}

OURS static char *ask_kernel(size_t bytes) {
	return checked((void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void called(void) {
	touch(ask_kernel(40 * MIB), 40 * MIB);
	say("mapped", 40 * MIB);
	printf("\"maker\": \"ask_kernel\", ");
}

OURS static char *grow_map(char *at, size_t bytes, size_t more) {
	return checked(mremap(at, bytes, more, MREMAP_MAYMOVE));
}

static void grown(void) {
	char *at = map_cache(4 * MIB);
	touch(at, 4 * MIB);
	at = grow_map(at, 4 * MIB, 40 * MIB);
	touch(at, 40 * MIB);
	say("mapped", 40 * MIB);
	printf("\"maker\": \"grow_map\", ");
}

static int made_file(size_t bytes) {
	FILE *f = tmpfile();
	int fd = f ? fileno(f) : -1;
	for (size_t at = 0; at < bytes; at += sizeof big) {
		memset(big, 1, 4 * MIB);
		if (write(fd, big, 4 * MIB) != 4 * MIB) {
			_exit(5);
		}
		at += 4 * MIB - sizeof big;
	}
	return fd;
}

static void file(void) {
	const volatile char *at = checked(
			mmap(NULL, 32 * MIB, PROT_READ, MAP_PRIVATE, made_file(32 * MIB), 0));
	uint64_t before = smaps("Rss", NULL), sum = 0;
	for (size_t i = 0; i < 32 * MIB; i += page) {
		sum += (uint64_t)at[i];
	}
	printf("\"delta\": %" PRIu64 ", ", smaps("Rss", NULL) - before);
	say("files", sum != 0 ? smaps("Rss", NULL) - smaps("Anonymous", NULL) : 0);
}

/** A file that is mapped privately and written to. */
static void copied(void) {
	char *at = checked(
			mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, made_file(32 * MIB), 0));
	touch(at, 32 * MIB);
	say("modules_written", 32 * MIB + 4 * MIB); // and what `big` took
}

static void shared(void) {
	char *at = checked(
			mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	touch(at, 16 * MIB);
	pid_t other = fork();
	if (other == 0) {
		touch(at + 16 * MIB, 16 * MIB);
		_exit(0);
	}
	(void)waitpid(other, NULL, 0);
	touch(at, 32 * MIB);
	say("shared", smaps("Rss", at));
}

static void lazy(void) {
	char *at = map_cache(40 * MIB);
	(void)madvise(at, 40 * MIB, MADV_NOHUGEPAGE);
	touch(at, 40 * MIB);
	(void)madvise(at, 30 * MIB, MADV_FREE);
	say("mapped", 40 * MIB);
	printf("\"lazy_free\": %" PRIu64 ", ", smaps("LazyFree", at));
}

static void huge(void) {
	char *at = map_cache(48 * MIB);
	at = (char *)(((uintptr_t)at + 2 * MIB - 1) & -(uintptr_t)(2 * MIB));
	(void)madvise(at, 40 * MIB, MADV_HUGEPAGE);
	for (size_t i = 0; i < 40 * MIB; i += 2 * MIB) {
		((volatile char *)at)[i] = 1;
	}
	say("mapped", smaps("Rss", at));
	printf("\"huge\": %" PRIu64 ", ", smaps("AnonHugePages", at));
}

static void *go_deep(void *number) {
	char deep[DEEP];
	touch(deep, sizeof deep);
	pthread_barrier_wait(&all_done);
	pause();
	return number;
}

static void stacks(void) {
	start_threads(STACK_THREADS, go_deep, 8 * MIB);
	say("stacks", STACK_THREADS * (uint64_t)DEEP);
}

static void reserve(void) {
	char *at = checked(mmap(NULL, 1ul << 40, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	(void)checked(
			mmap(NULL, 1ul << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	(void)madvise(at, 1ul << 40, MADV_NOHUGEPAGE);
	touch(at + (1ul << 39), 20 * MIB);
	say("mapped", 20 * MIB);
}

/** A block of which some pages are touched. */
static void untouched(void) {
	const size_t bytes = 64 * MIB;
	char *block = checked(malloc(bytes));
	(void)madvise((void *)(((uintptr_t)block + page - 1) & -page), bytes - page, MADV_NOHUGEPAGE);
	uint64_t resident = 0;
	for (size_t i = 0; i < TOUCHED; i++) {
		((volatile char *)block)[i * 16 * page + 100] = 1;
	}
	for (uint64_t at = (uintptr_t)block & -page; at < (uintptr_t)block + bytes; at += page) {
		uint64_t from = at > (uintptr_t)block ? at : (uintptr_t)block;
		uint64_t to = at + page < (uintptr_t)block + bytes ? at + page : (uintptr_t)block + bytes;
		resident += is_there(at) ? to - from : 0;
	}
	say("heap_live", resident);
	printf("\"untouched\": {\"asked\": %zu, \"resident\": %" PRIu64 "}, ", bytes, resident);
	blocks[0] = block;
}

OURS static char *move_break(long bytes) {
	return checked(sbrk(bytes));
}

static void by_hand(void) {
	touch(move_break(24 * MIB), 24 * MIB);
	say("mapped", 24 * MIB);
	printf("\"maker\": \"move_break\", ");
}

static void bss(void) {
	touch(big, sizeof big);
	say("modules_written", sizeof big);
}

static void memfd(void) {
	int fd = memfd_create("known", MFD_CLOEXEC);
	char *at = ftruncate(fd, 32 * MIB) == 0
			? mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			: MAP_FAILED;
	touch(checked(at), 32 * MIB);
	say("shared", smaps("Rss", at));
}

OURS static char *attach(size_t bytes) {
	int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
	char *at = checked(shmat(id, NULL, 0));
	(void)shmctl(id, IPC_RMID, NULL);
	touch(at, bytes);
	return at;
}

static void sysv(void) {
	(void)shmdt(attach(16 * MIB));
	char *at = attach(32 * MIB);
	say("shared", smaps("Rss", at));
	printf("\"maker\": \"attach\", ");
}

// ---- hostile ones: 20 MB of a cache, and what may confuse a reader

static void *storm_of_calls(void *number) {
	pthread_barrier_wait(&all_done);
	for (;;) {
		char *at = map_cache(16 * page);
		touch(at, 2 * page);
		(void)munmap(at + 4 * page, page);
		(void)munmap(at, 16 * page);
	}
	return number;
}

static void storm(void) {
	touch(map_cache(20 * MIB), 20 * MIB);
	start_threads(2, storm_of_calls, 256 << 10);
	say("mapped", 20 * MIB);
}

static volatile uint64_t n_calls[2];

static void *flood_of_calls(void *number) {
	uint64_t i = (uintptr_t)number;
	char *at = map_cache(1000 * page);
	pthread_barrier_wait(&all_done);
	for (uint64_t n = 0;; n++) {
		(void)mprotect(at + n % 1000 * page, page, PROT_READ | PROT_WRITE);
		n_calls[i] = n;
	}
	return number;
}

/** A million calls per second, or what the machine can do: the kernel has nothing to do for them. */
static void flood(void) {
	touch(map_cache(20 * MIB), 20 * MIB);
	start_threads(2, flood_of_calls, 256 << 10);
	uint64_t before = n_calls[0] + n_calls[1];
	(void)sleep(1);
	printf("\"calls\": %" PRIu64 ", ", n_calls[0] + n_calls[1] - before);
	say("mapped", 20 * MIB);
}

static void *map_and_unmap(void *unused) {
	pthread_barrier_wait(&all_done);
	for (;;) {
		char *at = map_cache(20 * MIB);
		touch(at, 20 * MIB);
		(void)munmap(at, 20 * MIB);
	}
	return unused;
}

/** Half of what is resident comes and goes. */
static void churn(void) {
	touch(map_cache(20 * MIB), 20 * MIB);
	start_threads(1, map_and_unmap, 256 << 10);
	say("mapped", 20 * MIB);
}

static void regions(void) {
	touch(map_cache(20 * MIB), 20 * MIB);
	char *at = map_cache(60000 * page);
	size_t n = 0;
	while (n < 60000 && mprotect(at + n * page, page, PROT_READ) == 0) {
		n += 2; // every second page is another mapping
	}
	for (size_t i = 1; i < 60000; i += 16) {
		at[i * page] = 1;
	}
	say("mapped", 20 * MIB + 60000 / 16 * page);
}

static void vast(void) {
	touch(map_cache(20 * MIB), 20 * MIB);
	uint64_t n = 0;
	for (size_t i = 0; i < 100; i++) {
		char *at = mmap(NULL, 1ul << 40, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at != MAP_FAILED && madvise(at, 1ul << 40, MADV_NOHUGEPAGE) == 0) {
			at[i << 30] = 1;
			n++;
		}
	}
	say("mapped", 20 * MIB + n * page);
	printf("\"reserved\": %" PRIu64 ", ", n << 40);
}

/** Bytes of the ring of a socket for packets, which count as resident, if it is permitted. */
static size_t map_ring(void) {
	const struct tpacket_req ring = {1 << 20, 4, 2048, 4 << 9};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring) == 0 &&
			mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED;
	return ok ? 4 * MIB : 0;
}

/** The ring of a perf event, if it is permitted, is a driver's memory. */
static void device(void) {
	static uint64_t event[16] = {1 | 128ull << 32, 0};
	event[5] = 1 << 5 | 1 << 6; // not the kernel, not the hypervisor
	int fd = (int)syscall(SYS_perf_event_open, event, 0, -1, -1, 0);
	if (fd >= 0) {
		(void)mmap(NULL, 17 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	char *zeros = mmap(NULL, 20 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			open("/dev/zero", O_RDWR | O_CLOEXEC), 0);
	touch(checked(zeros), 20 * MIB);
	printf("\"ring\": %zu, ", map_ring());
	say("mapped", 20 * MIB);
}

static const struct {
	const char *name;
	void (*make)(void);
} ways[] = {{"kept", kept}, {"arenas", arenas}, {"pinned", pinned}, {"live", live},
		{"cache", cache}, {"zeros", zeros}, {"raw", raw}, {"called", called}, {"grown", grown},
		{"file", file}, {"copied", copied}, {"shared", shared}, {"memfd", memfd}, {"sysv", sysv},
		{"lazy", lazy}, {"huge", huge}, {"stacks", stacks}, {"reserve", reserve},
		{"untouched", untouched}, {"by_hand", by_hand}, {"bss", bss}, {"storm", storm},
		{"flood", flood}, {"churn", churn}, {"regions", regions}, {"vast", vast},
		{"device", device}};

static void on_term(int signal) {
	(void)signal;
	_exit(0);
}

int main(int argc, char **argv) {
	page = (size_t)sysconf(_SC_PAGESIZE);
	// Where huge pages are given unasked, more is resident than what was touched
	(void)prctl(PR_SET_THP_DISABLE, argc > 1 && strcmp(argv[1], "huge") != 0, 0, 0, 0);
	signal(SIGTERM, on_term);
	setvbuf(stdout, output, _IOFBF, sizeof output);
	for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++) {
		if (strcmp(ways[i].name, argv[1]) == 0) {
			printf("{");
			ways[i].make();
			printf("\"page\": %zu, \"rss\": %" PRIu64 "}\n", page, smaps("Rss", NULL));
			(void)fflush(stdout);
			const unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
			(void)sleep(seconds);
			while (argc > 2 && seconds == 0) {
				pause();
			}
			return 0;
		}
	}
	return 2;
}
