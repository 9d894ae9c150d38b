// SPDX-License-Identifier: MIT
#include "engine/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static const char *const names[][2] = {
		{"spike()", "spike()"},
		{"buildMatrix(int)", "buildMatrix()"},
		{"main", "main"},
		{"void f<int>(char, int)", "f<>()"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)",
				"std::vector<>::push_back()"},
		{"operator new(unsigned long)", "operator new()"},
		{"(anonymous namespace)::g(int)", "(anonymous namespace)::g()"},
		{"std::operator<< <char>(std::ostream&, char)", "std::operator<<()"},
		{"bool operator< <int>(A const&, A const&)", "operator<()"},
		{"bool operator==<A, B>(A const&, B const&)", "operator==<>()"},
		{"decltype (f(1)) g<int>(char)", "g<>()"},
		{"A::operator->() const", "A::operator->()"},
		{"A::operator bool() const", "A::operator bool()"},
		{"std::function<void (int)>::operator()(int) const", "std::function<>::operator()()"},
		{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()()"},
		{"f(int)::local::g(char)", "f(int)::local::g()"},
		{"std::map<int,int>::operator[](int const&)", "std::map<>::operator[]()"},
		{"<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter",
				"<alloc::vec::Vec<> as core::iter::FromIterator<>>::from_iter"},
		{"foo::bar::<u8>", "foo::bar::<>"},
		{"A::name[abi:cxx11](int) const", "A::name()"},
		{"std::string f[abi:cxx11]<int>(char)", "f<>()"},
		{"broken[abi:", "broken"},
		{"libfoo.so+0x4f20", "libfoo.so+0x4f20"},
		{"generated code 0x12", "generated code 0x12"},
		{"", ""},
};

static void shortens_names_of_each_language(void **state) {
	(void)state;
	struct arena arena = {0};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_string_equal(function_short(slice_of_text(names[i][0]), &arena), names[i][1]);
	}
	arena_finish(&arena);
}

static void keeps_parameters_where_kde_does(void **state) {
	(void)state;
	struct arena arena = {0};
	assert_string_equal(template_short(slice_of_text("void f<int>(std::vector<char>)"), &arena),
			"void f<>(std::vector<>)");
	arena_finish(&arena);
}

/** Names come from files: any bytes must be survived. Run under a sanitizer to mean something. */
static void survives_nonsense(void **state) {
	(void)state;
	static const char letters[] = "<>()[]{}-: operatornewa,&*~";
	struct arena arena = {0};
	srand(1);
	for (int i = 0; i < 20000; i++) {
		char text[40];
		size_t n = (size_t)rand() % sizeof text;
		for (size_t k = 0; k < n; k++) {
			text[k] = letters[(size_t)rand() % sizeof letters]; // a zero byte too
		}
		char *copy = malloc(n ? n : 1); // exact bounds for the sanitizer
		memcpy(copy, text, n);
		assert_true(strlen(function_short(slice_of(copy, n), &arena)) <= n + 3);
		assert_non_null(template_short(slice_of(copy, n), &arena));
		free(copy);
	}
	arena_finish(&arena);
}

static void matches_other_builds_by(void **state) {
	(void)state;
	static const char *const bare[][2] = {
			{"void fill<int>(int) const", "fill<int>"},
			{"fill<int>", "fill<int>"},
			{"f(int)::g::h(char) [clone .cold]", "f(int)::g::h"},
			{"A::operator unsigned long() const", "A::operator unsigned long"},
			{"S& std::operator<< <S>(S&, int)", "std::operator<< <S>"},
			{"compare_operator(int)", "compare_operator"},
			{"(anonymous barepace)::f(int)", "(anonymous barepace)::f"},
			{"generated code", "generated code"},
			{"", ""},
	};
	for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) {
		assert_true(
				slice_equal(function_bare(slice_of_text(bare[i][0])), slice_of_text(bare[i][1])));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(shortens_names_of_each_language),
			cmocka_unit_test(keeps_parameters_where_kde_does),
			cmocka_unit_test(survives_nonsense),
			cmocka_unit_test(matches_other_builds_by),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
