// SPDX-License-Identifier: MIT
#include "sys/smaps.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void take(struct smaps *out, const char *text) {
	char line[512];
	for (const char *at = text; *at;) {
		size_t n = strcspn(at, "\n");
		(void)snprintf(line, sizeof line, "%.*s", (int)n, at);
		assert_true(smaps_take_line(out, line));
		at += n + (at[n] != '\0');
	}
}

static void lines_are_understood(void **state) {
	(void)state;
	struct smaps s = {0};
	take(&s,
			"Rss: 9 kB\n" // of nothing
			"55d0-65d0 r-xp 00002000 fe:00 1234      /usr/bin/a b: c (deleted)\n"
			"Size:      4 kB\nRss:       8 kB\nPss:       3 kB\nShared_Clean:      4 kB\n"
			"Anonymous:      4 kB\nTHPeligible: 0\nVmFlags: rd ex mr mw me\n"
			"a000-b000 rw-p 00000000 00:00 0 \n"
			"Rss: 4 kB\nPss_Dirty: 77 kB\nAnonymous: 4 kB\nLazyFree: 1 kB\nSwap: 12 kB\n"
			"SwapPss: 7 kB\nAnonHugePages: 2048 kB\nShared_Clean: 2 kB\nShared_Dirty: 5 kB\n"
			"c000-d000 rw-p 00000000 00:00 0                          [heap]\n"
			"d000-e000 rw-p 00000000 00:00 0                          [stack]\n"
			"e000-f000 r--p 00000000 00:00 0                          [vvar]\n"
			"f000-10000 rw-p 00000000 00:00 0                         [anon:arena 1]\n"
			"10000-11000 rw-s 00000000 00:01 77                       /memfd:x (deleted)\n"
			"11000-12000 rw-s 00000000 00:01 78                       /dev/zero (deleted)\n"
			"12000-13000 rw-s 00000000 00:05 79                       /dev/dri/card0\n"
			"13000-14000 rw-p 00000000 00:0f 80                       /anon_hugepage (deleted)\n"
			"Rss: 0 kB\nVmFlags: rd wr ht\n"
			"14000-15000 rw-s 00000000 00:0f 81                       /sys/resource0\n"
			"VmFlags: rd wr io pf\n"
			"15000-16000 rw-p 00000000 00:05 78                       /dev/zero\n");
	static const enum smaps_kind kinds[] = {SMAPS_FILE, SMAPS_ANONYMOUS, SMAPS_HEAP, SMAPS_STACK,
			SMAPS_KERNEL, SMAPS_ANONYMOUS, SMAPS_SHARED, SMAPS_SHARED, SMAPS_DEVICE, SMAPS_FILE,
			SMAPS_DEVICE, SMAPS_ANONYMOUS};
	assert_int_equal(s.n, sizeof kinds / sizeof *kinds);
	for (size_t i = 0; i < s.n; i++) {
		assert_int_equal(s.items[i].kind, kinds[i]);
	}
	const struct smaps_area *a = s.items;
	assert_int_equal(a->start, 0x55d0);
	assert_int_equal(a->end, 0x65d0);
	assert_int_equal(a->offset, 0x2000);
	assert_int_equal(a->inode, 1234);
	assert_string_equal(a->name, "/usr/bin/a b: c (deleted)");
	assert_true(a->is_executable && !a->is_writable && !a->is_shared && !a->is_hugetlb);
	assert_int_equal(a->rss_bytes, 8192);
	assert_int_equal(a->pss_bytes, 3072);
	assert_int_equal(a->shared_bytes, 4096);
	assert_int_equal(a->anonymous_bytes, 4096);
	a = &s.items[1];
	assert_string_equal(a->name, "");
	assert_true(a->is_writable);
	assert_int_equal(a->lazy_free_bytes, 1024);
	assert_int_equal(a->swap_bytes, 12288);
	assert_int_equal(a->huge_bytes, 2 << 20);
	assert_int_equal(a->shared_bytes, 7 << 10);
	assert_true(s.items[6].is_shared);
	assert_true(s.items[9].is_hugetlb);
	assert_int_equal(s.rss_bytes, 12288);
	smaps_finish(&s);
}

/** The kernel goes on at an address: what has grown or come there meanwhile is told as it is then. */
static void no_address_is_told_twice(void **state) {
	(void)state;
	static const struct {
		uint64_t start, end, rss_bytes;
	} expected[] = {{0x1000, 0x4000, 4096}, {0x4000, 0x9000, 16384}, {0xa000, 0xc000, 8192}};
	struct smaps s = {0};
	take(&s,
			"1000-5000 rw-p 00000000 00:00 0\nRss: 4 kB\n"
			"5000-6000 rw-p 00000000 00:00 0\nRss: 4 kB\n"
			"6000-7000 r--p 00000000 00:00 0\nRss: 4 kB\n"
			"4000-9000 rw-p 00000000 00:00 0\nRss: 16 kB\n"
			"a000-b000 rw-p 00000000 00:00 0\nRss: 4 kB\n"
			"a000-c000 rw-p 00000000 00:00 0\nRss: 8 kB\n");
	assert_int_equal(s.n, 3);
	for (size_t i = 0; i < s.n; i++) {
		assert_int_equal(s.items[i].start, expected[i].start);
		assert_int_equal(s.items[i].end, expected[i].end);
		assert_int_equal(s.items[i].rss_bytes, expected[i].rss_bytes);
	}
	assert_int_equal(s.rss_bytes, 28672);
	smaps_finish(&s);
}

static void words_become_ranges(void **state) {
	(void)state;
	const uint64_t here = 1ull << 63, file = here | 1ull << 61, swapped = 1ull << 62 | 5;
	const uint64_t words[] = {here, here | 7, 0, swapped, file, here, file, file};
	static const struct pagemap_range expected[] = {{0x10000, 0x12000, false},
			{0x14000, 0x15000, true}, {0x15000, 0x16000, false}, {0x16000, 0x19000, true}};
	struct pagemap p = {0};
	assert_true(pagemap_take(&p, 0x10000, 4096, words, 8));
	assert_true(pagemap_take(&p, 0x18000, 4096, &file, 1));
	assert_int_equal(p.n, 4);
	for (size_t i = 0; i < p.n; i++) {
		assert_int_equal(p.items[i].start, expected[i].start);
		assert_int_equal(p.items[i].end, expected[i].end);
		assert_int_equal(p.items[i].is_file, expected[i].is_file);
	}
	vec_finish(&p);
}

/** Resident bytes of a range, by what was found. */
static uint64_t resident(const struct pagemap *p, const void *at, size_t bytes) {
	uint64_t sum = 0, start = (uintptr_t)at, end = start + bytes;
	for (size_t i = 0; i < p->n; i++) {
		uint64_t from = p->items[i].start > start ? p->items[i].start : start;
		uint64_t to = p->items[i].end < end ? p->items[i].end : end;
		sum += to > from ? to - from : 0;
		assert_true(i == 0 || p->items[i - 1].end <= p->items[i].start);
	}
	return sum;
}

static const struct smaps_area *area_at(const struct smaps *s, const void *at) {
	for (size_t i = 0; i < s->n; i++) {
		if (s->items[i].start <= (uintptr_t)at && (uintptr_t)at < s->items[i].end) {
			return &s->items[i];
		}
	}
	fail();
	return NULL;
}

/** `is_forked`: another process has the same pages. */
static void check_own(bool can_scan, bool is_forked, uint64_t page) {
	const size_t pages = 5000;
	uint8_t *some = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *reserve = mmap(NULL, 1ull << 44, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *shared = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			0);
	assert_true(some != MAP_FAILED && reserve != MAP_FAILED && shared != MAP_FAILED);
	(void)madvise(some, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i += 2) {
		some[i * page] = 1; // more ranges than are asked for at a time
	}
	for (size_t i = 1; i < pages; i += 4) {
		assert_int_equal(((volatile uint8_t *)some)[i * page], 0); // the page of zeros is no memory
	}
	reserve[1ull << 43] = 1;
	memset(shared, 1, 3 * page);
	pid_t other = is_forked ? fork() : 0;
	if (is_forked && other == 0) {
		(void)pause();
		_exit(0);
	}
	struct smaps s = {0};
	struct pagemap p = {0};
	assert_true(smaps_read(&s, getpid(), "smaps"));
	assert_true(pagemap_look(&p, getpid(), &s, can_scan));
	assert_int_equal(resident(&p, some, pages * page), pages / 2 * page);
	assert_int_equal(resident(&p, shared, 64 * page), 3 * page);
	assert_int_equal(area_at(&s, shared)->rss_bytes, 3 * page);
	assert_int_equal(area_at(&s, shared)->kind, SMAPS_SHARED);
	assert_int_equal(area_at(&s, &s)->kind, SMAPS_STACK);
	assert_int_equal(area_at(&s, (void *)(uintptr_t)check_own)->kind, SMAPS_FILE);
	if (p.how == PAGEMAP_SCANNED) {
		assert_true(resident(&p, reserve, 1ull << 44) > 0);
		assert_int_equal(p.skipped_bytes, 0);
	} else {
		assert_true(p.skipped_bytes > 0);
	}
	assert_true(can_scan || p.how == PAGEMAP_READ);
	if (is_forked) {
		assert_int_equal(kill(other, SIGKILL), 0);
		assert_int_equal(waitpid(other, NULL, 0), other);
	}
	vec_finish(&p);
	smaps_finish(&s);
	(void)munmap(some, pages * page);
	(void)munmap(reserve, 1ull << 44);
	(void)munmap(shared, 64 * page);
}

static void own_pages_are_found(void **state) {
	(void)state;
	for (int i = 0; i < 4; i++) {
		check_own(i & 1, i & 2, (uint64_t)sysconf(_SC_PAGESIZE));
	}
}

static void nobody_has_nothing(void **state) {
	(void)state;
	struct smaps s = {0};
	struct pagemap p = {0};
	assert_false(smaps_read(&s, 0x7fffffff, "smaps"));
	assert_true(pagemap_look(&p, 0x7fffffff, &s, true));
	assert_int_equal(p.how, PAGEMAP_REFUSED);
	smaps_finish(&s);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(lines_are_understood),
			cmocka_unit_test(no_address_is_told_twice),
			cmocka_unit_test(words_become_ranges),
			cmocka_unit_test(own_pages_are_found),
			cmocka_unit_test(nobody_has_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
