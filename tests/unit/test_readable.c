// SPDX-License-Identifier: MIT

/* What the recorder may read of a runtime's memory, and when it asks anew. */

#include "../fake_program.h"
#include "recorder/core/hook/hook.h"
#include "recorder/core/hook/mapping.h"
#include "recorder/core/runtime/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { PAGE = 4096 };

static uint64_t pages[GUARD_SMALL_PAGES];
static struct guard guard = {.pages = pages, .mask = GUARD_SMALL_PAGES - 1};

static int setup(void **state) {
	(void)state;
	struct hook h;
	if (!hook_enter(&h, MACHINE_CALLER(), false)) {
		return -1;
	}
	hook_leave(&h);
	return 0;
}

/** An empty place among those that are known looks like the first page. */
static void the_first_page_is_never_read(void **state) {
	(void)state;
	guard_begin(&guard);
	for (uint64_t address = 0; address < PAGE; address += 8) {
		uint64_t value;
		assert_false(guard_load(&guard, address, &value));
	}
}

static void what_is_unmapped_is_asked_for_anew(void **state) {
	(void)state;
	unsigned char *page = fake_pages(PAGE);
	uint64_t value;
	guard_begin(&guard);
	assert_true(guard_load(&guard, (uint64_t)page, &value));
	munmap(page, PAGE);
	atomic_fetch_add(&segment.header->unmap_epoch, 1);
	guard_begin(&guard);
	assert_false(guard_load(&guard, (uint64_t)page, &value));
}

/** Another thread may find a page readable between the hook's beginning and the kernel's work. */
static void what_was_found_during_the_call_is_forgotten(void **state) {
	(void)state;
	unsigned char *page = fake_pages(PAGE);
	const uint64_t arguments[MAPPING_ARGUMENTS] = {(uint64_t)page, PAGE};
	struct capture_regs caller = MACHINE_CALLER();
	uint64_t value;
	struct hook h;
	enum mapping_how how = mapping_enter(&thread_self, &h, caller, RESIDENT_UNMAPS, arguments);
	assert_int_equal(how, MAPPING_OUTSIDE);
	guard_begin(&guard);
	assert_true(guard_load(&guard, (uint64_t)page, &value));
	munmap(page, PAGE);
	mapping_leave(&h, how, RESIDENT_UNMAPS, arguments, 0);
	guard_begin(&guard);
	assert_false(guard_load(&guard, (uint64_t)page, &value));
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_first_page_is_never_read),
			cmocka_unit_test(what_is_unmapped_is_asked_for_anew),
			cmocka_unit_test(what_was_found_during_the_call_is_forgotten),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
