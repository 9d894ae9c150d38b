// SPDX-License-Identifier: MIT
#include "symbols/names/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

struct sample {
	const char *linkage, *people;
};

static void check_all(const struct sample *samples, size_t n, bool is_c) {
	struct arena arena = {0};
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(names_demangle(samples[i].linkage, is_c ? NAMES_C : NAMES_NIM, &arena),
				samples[i].people);
	}
	arena_finish(&arena);
}
#define CHECK_ALL(samples, is_c) check_all((samples), sizeof(samples) / sizeof *(samples), (is_c))

static void marked_names_are_translated(void **state) {
	(void)state;
	static const struct sample samples[] = {
			{"_ZN3foo3barEi", "foo::bar(int)"},
			{"_ZNKSt6vectorIiSaIiEE4sizeEv",
					"std::vector<int, std::allocator<int> >::size() const"},
			{"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run()"},
			{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
			// Rust, old: the hash goes
			{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
			{"_ZN38_$LT$a..B$u20$as$u20$core..ops..Fn$GT$4call17h0123456789abcdefE",
					"<a::B as core::ops::Fn>::call"},
			// Rust, new: the disambiguators go
			{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
			{"_RNvMs_Cs1234_7mycrateNtB4_3Bar3baz", "<mycrate::Bar>::baz"},
			{"_RNCNvCs1234_7mycrate3foo0B3_", "mycrate::foo::{closure#0}"},
			{"_D3foo3barFiZv", "foo.bar(int)"},
			{"_Dmain", "D main"},
	};
	CHECK_ALL(samples, false);
}

static void suffixes_of_copies_go(void **state) {
	(void)state;
	static const struct sample samples[] = {
			{"foo.part.0", "foo"},
			{"foo.constprop.12.isra.3", "foo"},
			{"foo.cold", "foo"},
			{"_ZN3foo3barEi.constprop.0.cold", "foo::bar(int)"},
			{"_ZN3foo3barEi.llvm.1234567890", "foo::bar(int)"},
			{"_RNvCs1234_7mycrate3foo.llvm.99", "mycrate::foo"},
			{"foo.lto_priv.0", "foo"},
			{"_ZN3foo3barEi.avx2", "foo::bar(int)"},
			{"_Z3runv._omp_fn.0", "run()"},
			{"memcpy@@GLIBC_2.14", "memcpy"},
			// Not of a copy
			{"foo.5", "foo.5"},
			{"part.0", "part.0"},
			{".cold", ".cold"},
			{"foo.avx2", "foo.avx2"},
			{"", ""},
			{"@", "@"},
	};
	CHECK_ALL(samples, false);
}

static void initializers_are_called_so(void **state) {
	(void)state;
	static const struct sample samples[] = {
			{"_GLOBAL__sub_I_main", "static initializers of the file with main"},
			{"_GLOBAL__sub_I__ZN3foo3barE", "static initializers of the file with foo::bar"},
			{"_GLOBAL__I_table", "static initializers of the file with table"},
			{"_GLOBAL__sub_I_app.cpp", "static initializers of app.cpp"},
			{"_GLOBAL__sub_I_app.cpp.llvm.77", "static initializers of app.cpp"},
			{"_GLOBAL__sub_D_main", "_GLOBAL__sub_D_main"}, // they free
	};
	CHECK_ALL(samples, false);
}

static void c_names_stay(void **state) {
	(void)state;
	static const struct sample any[] = {
			{"main", "main"},
			{"_start", "_start"},
			{"i", "i"},
			{"f", "f"},
			{"_Zebra", "_Zebra"},
			{"_Debug", "_Debug"},
			{"_D4", "_D4"},
			{"_Read", "_Read"},
			{"_Z", "_Z"},
			{"Z3foov", "Z3foov"},
			{"__Z3foov", "__Z3foov"},
			{"foo__bar", "foo__bar"},
			{"a__b__c", "a__b__c"},
	};
	CHECK_ALL(any, false);
	// In a unit known to be C even a name that is mangled in form is that function's name
	static const struct sample c[] = {
			{"_Z3foov", "_Z3foov"},
			{"_D3foo3barFiZv", "_D3foo3barFiZv"},
			{"add__numbers_12", "add__numbers_12"},
			{"foo.part.0", "foo"},
	};
	CHECK_ALL(c, true);
}

static void nim_names_lose_their_module(void **state) {
	(void)state;
	static const struct sample samples[] = {
			{"leakyParse__main_208", "leakyParse"},
			{"newSeq__stdZtables_u17", "newSeq"},
			{"X5BX5D___system_123", "[]"},
			{"X5BX5Deq___system_u5", "[]eq"},
			{"get__my_module_9", "get"},
			{"__module_208", "__module_208"},
			{"foo___208", "foo___208"},
			{"foo_208", "foo_208"},
	};
	CHECK_ALL(samples, false);
	struct arena arena = {0};
	assert_string_equal(names_demangle("foo__module_208", NAMES_MARKED, &arena), "foo__module_208");
	arena_finish(&arena);
}

static void any_bytes_are_safe(void **state) {
	(void)state;
	static const char *const seeds[] = {"_ZNKSt6vectorIiSaIiEE4sizeEv",
			"_RNvMs_Cs1234_7mycrateNtB4_3Bar3baz", "_D3foo3barFiZv", "X5BX5D___system_123",
			"_ZN71_$LT$a..B$u20$as$GT$4call17h0123456789abcdefE"};
	unsigned seed = 3;
	for (int round = 0; round < 20000; round++) {
		struct arena arena = {0};
		char *name = strdup(seeds[round % 5]);
		size_t n = strlen(name);
		for (int k = 0; k < 3; k++) {
			name[(size_t)rand_r(&seed) % n] = (char)(1 + rand_r(&seed) % 126);
		}
		assert_non_null(names_demangle(name, NAMES_NIM, &arena));
		free(name);
		arena_finish(&arena);
	}
	// Too long to be translated: as it is
	struct arena arena = {0};
	char *huge = malloc(1 << 20);
	memset(huge, 'P', 1 << 20);
	memcpy(huge, "_Z1f", 4);
	huge[(1 << 20) - 1] = 0;
	assert_string_equal(names_demangle(huge, NAMES_NIM, &arena), huge);
	free(huge);
	arena_finish(&arena);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(marked_names_are_translated),
			cmocka_unit_test(suffixes_of_copies_go),
			cmocka_unit_test(initializers_are_called_so),
			cmocka_unit_test(c_names_stay),
			cmocka_unit_test(nim_names_lose_their_module),
			cmocka_unit_test(any_bytes_are_safe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
