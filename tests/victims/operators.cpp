// SPDX-License-Identifier: MIT
/*
 * Every operator new and delete: operators N. Truth: of each form of new N blocks of 64 bytes, by a
 * function of its own name; nine of ten are deleted, by the forms that may. Then one that fails, by
 * an exception that is caught. As a library (-shared): work(N).
 */
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

const std::size_t size = 64;
const std::align_val_t alignment{64};

using new_function = void *();
using delete_function = void(void *);

} // namespace

#define MAKE(name, ...)                      \
	__attribute__((noinline)) void *name() { \
		return ::operator __VA_ARGS__;       \
	}

MAKE(by_new, new (size))
MAKE(by_new_array, new[](size))
MAKE(by_nothrow, new (size, std::nothrow))
MAKE(by_nothrow_array, new[](size, std::nothrow))
MAKE(by_aligned, new (size, alignment))
MAKE(by_aligned_array, new[](size, alignment))
MAKE(by_aligned_nothrow, new (size, alignment, std::nothrow))
MAKE(by_aligned_nothrow_array, new[](size, alignment, std::nothrow))

#define END(name, ...)                             \
	__attribute__((noinline)) void name(void *p) { \
		::operator __VA_ARGS__;                    \
	}

END(by_delete, delete (p))
END(by_sized, delete (p, size))
END(by_delete_nothrow, delete (p, std::nothrow))
END(by_delete_array, delete[](p))
END(by_sized_array, delete[](p, size))
END(by_delete_nothrow_array, delete[](p, std::nothrow))
END(by_delete_aligned, delete (p, alignment))
END(by_sized_aligned, delete (p, size, alignment))
END(by_delete_aligned_nothrow, delete (p, alignment, std::nothrow))
END(by_delete_aligned_array, delete[](p, alignment))
END(by_sized_aligned_array, delete[](p, size, alignment))
END(by_delete_aligned_nothrow_array, delete[](p, alignment, std::nothrow))

static const struct {
	new_function *make;
	delete_function *end[3];
} forms[] = {
		{by_new, {by_delete, by_sized, by_delete_nothrow}},
		{by_nothrow, {by_delete, by_sized, by_delete_nothrow}},
		{by_new_array, {by_delete_array, by_sized_array, by_delete_nothrow_array}},
		{by_nothrow_array, {by_delete_array, by_sized_array, by_delete_nothrow_array}},
		{by_aligned, {by_delete_aligned, by_sized_aligned, by_delete_aligned_nothrow}},
		{by_aligned_nothrow, {by_delete_aligned, by_sized_aligned, by_delete_aligned_nothrow}},
		{by_aligned_array,
				{by_delete_aligned_array, by_sized_aligned_array, by_delete_aligned_nothrow_array}},
		{by_aligned_nothrow_array,
				{by_delete_aligned_array, by_sized_aligned_array, by_delete_aligned_nothrow_array}},
};

extern "C" void work(int n) {
	for (const auto &form : forms) {
		for (int i = 0; i < n; i++) {
			void *p = form.make();
			if (i % 10 != 0) {
				form.end[i % 3](p);
			}
		}
	}
	volatile std::size_t too_much = static_cast<std::size_t>(-1) / 4;
	try {
		::operator delete(::operator new(too_much));
	} catch (const std::bad_alloc &) {
		std::puts("caught");
	}
	std::fflush(stdout);
}

int main(int argc, char **argv) {
	work(argc > 1 ? std::atoi(argv[1]) : 100);
}
