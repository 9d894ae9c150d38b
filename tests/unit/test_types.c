// SPDX-License-Identifier: MIT
#include "engine/views/types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

// Names as compilers wrote them and the demangler gives them.

enum { NO_LINES, LINES, OLD_RUST };

struct sample {
	const char *function;
	int how;
	const char *type; // as shown; NULL: not proved; "": it passes on what its caller wants
};

static const struct sample samples[] = {
		// libstdc++
		{"std::__new_allocator<int>::allocate(unsigned long, void const*)", NO_LINES, "int"},
		{"std::__new_allocator<(anonymous namespace)::Hidden>::allocate(unsigned long, void const*)",
				NO_LINES, "(anonymous namespace)::Hidden"},
		{"std::__new_allocator<(anonymous namespace)::Hidden>::allocate", LINES,
				"(anonymous namespace)::Hidden"},
		{"__gnu_cxx::new_allocator<char const*>::allocate(unsigned long, void const*)", NO_LINES,
				"char const*"},
		{"std::allocator<std::pair<int const, std::vector<short, std::allocator<short> > > >"
		 "::allocate(unsigned long)",
				NO_LINES, "std::pair<int const, std::vector<short>>"},
		{"std::allocator_traits<std::allocator<app::Point> >::allocate(std::allocator<app::Point>&, "
		 "unsigned long)",
				NO_LINES, "app::Point"},
		{"std::allocator_traits<app::Arena<app::Point> >::allocate(app::Arena<app::Point>&, unsigned "
		 "long)",
				LINES, NULL},
		{"__gnu_cxx::__alloc_traits<std::allocator<long>, long>::allocate(std::allocator<long>&, "
		 "unsigned long)",
				NO_LINES, "long"},
		{"std::_Vector_base<app::Box<int, 3ul>, std::allocator<app::Box<int, 3ul> > >"
		 "::_M_allocate(unsigned long)",
				NO_LINES, "app::Box<int, 3ul>"},
		{"std::_Vector_base<int, app::Arena<int> >::_M_allocate(unsigned long)", NO_LINES, "int"},
		{"std::__new_allocator<std::_List_node<app::Point> >::allocate(unsigned long, void const*)",
				NO_LINES, "node of std::list<app::Point>"},
		{"std::__new_allocator<std::_Fwd_list_node<int> >::allocate(unsigned long, void const*)",
				NO_LINES, "node of std::forward_list<int>"},
		{"std::__new_allocator<std::_Rb_tree_node<std::pair<std::__cxx11::basic_string<char, "
		 "std::char_traits<char>, std::allocator<char> > const, int> > >::allocate(unsigned long, void "
		 "const*)",
				NO_LINES, "node of a tree of std::pair<std::string const, int>"},
		{"std::__new_allocator<std::__detail::_Hash_node<std::pair<int const, app::Box<int> >, false> "
		 ">::allocate(unsigned long, void const*)",
				NO_LINES, "node of a hash table of std::pair<int const, app::Box<int>>"},
		{"std::__new_allocator<std::__detail::_Hash_node_base*>::allocate(unsigned long, void const*)",
				NO_LINES, "std::__detail::_Hash_node_base*"},
		{"std::__new_allocator<std::_Sp_counted_ptr_inplace<app::Point, std::allocator<void>, "
		 "(__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long, void const*)",
				NO_LINES, "app::Point and its reference counts"},
		{"std::__new_allocator<void (*)(int, char)>::allocate(unsigned long, void const*)",
				NO_LINES, "void (*)(int, char)"},
		{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_mutate("
		 "unsigned long, unsigned long, char const*, unsigned long)",
				NO_LINES, "char"},
		{"std::__detail::_MakeUniq<app::Box<long> >::__single_object std::make_unique<app::Box<long>>()",
				LINES, "app::Box<long>"},
		{"std::__detail::_MakeUniq<app::Box<long> >::__single_object std::make_unique<app::Box<long>, "
		 "int>(int&&)",
				LINES, "app::Box<long>"},
		// What a constructor asks for, which nobody sees without lines, is of another type
		{"std::__detail::_MakeUniq<app::Box<long> >::__single_object std::make_unique<app::Box<long>>()",
				NO_LINES, NULL},
		{"void std::vector<app::Point, std::allocator<app::Point> >::_M_realloc_insert<app::Point>("
		 "__gnu_cxx::__normal_iterator<app::Point*, std::vector<app::Point> >, app::Point&&)",
				NO_LINES, NULL},
		{"app::std::allocator<int>::allocate(unsigned long)", NO_LINES, NULL},
		{"app::allocate(std::allocator<int>&)", LINES, NULL},
		{"std::__new_allocator<int>::deallocate(int*, unsigned long)", NO_LINES, NULL},
		{"main", LINES, NULL},
		{"std::allocator<>::allocate", LINES, NULL},
		// libc++
		{"std::__1::allocator<app::Point>::allocate[abi:v15006](unsigned long)", NO_LINES,
				"app::Point"},
		{"std::__1::allocator<std::__1::__list_node<int, void*> >::allocate(unsigned long)",
				NO_LINES, "node of std::list<int>"},
		{"std::__1::allocator<std::__1::__shared_ptr_emplace<app::Point, std::__1::allocator<app::Point> "
		 "> >::allocate(unsigned long)",
				NO_LINES, "app::Point and its reference counts"},
		{"std::__1::allocator<std::__1::basic_string<char, std::__1::char_traits<char>, "
		 "std::__1::allocator<char> > >::allocate(unsigned long)",
				NO_LINES, "std::string"},
		{"std::__1::allocator<std::__1::vector<int, std::__1::allocator<int> > >::allocate(unsigned long)",
				NO_LINES, "std::vector<int>"},
		{"std::__1::__unique_if<app::Point>::__unique_single std::__1::make_unique<app::Point>()",
				LINES, "app::Point"},
		{"void* std::__1::__libcpp_operator_new<unsigned long>(unsigned long)", NO_LINES, ""},
		// Rust, new names
		{"<alloc::raw_vec::RawVec<t::Point>>::grow_one", NO_LINES, "t::Point"},
		{"<alloc::raw_vec::RawVec<(u32, u16)>>::grow_one", NO_LINES, "(u32, u16)"},
		{"<alloc::raw_vec::RawVec<alloc::boxed::Box<dyn app::Shape + core::marker::Send>>>::grow_one",
				NO_LINES, "alloc::boxed::Box<dyn app::Shape + core::marker::Send>"},
		{"<alloc::raw_vec::RawVec<fn(u8) -> u16>>::grow_one", NO_LINES, "fn(u8) -> u16"},
		{"<alloc::raw_vec::RawVec<u8, app::Arena>>::with_capacity_in", NO_LINES, "u8"},
		{"<alloc::vec::Vec<t::Point>>::with_capacity_in", NO_LINES, "t::Point"},
		{"<alloc::vec::Vec<t::Point>>::extend_desugared::<app::It>", NO_LINES, NULL},
		{"<alloc::vec::Vec<alloc::string::String> as core::clone::Clone>::clone", NO_LINES, NULL},
		{"<alloc::boxed::Box<[u8]>>::new_uninit_slice", NO_LINES, "[u8]"},
		{"<alloc::boxed::Box<alloc::rc::RcInner<t::Point>>>::new", NO_LINES,
				"t::Point and its reference counts"},
		{"<alloc::boxed::Box<alloc::sync::ArcInner<[u64; 9]>>>::new", NO_LINES,
				"[u64; 9] and its reference counts"},
		{"<alloc::sync::Arc<[u64; 9]>>::new", NO_LINES, "[u64; 9]"},
		{"alloc::boxed::box_new::<app::Node<u8>>", NO_LINES, "app::Node<u8>"},
		{"<hashbrown::raw::RawTable<(u32, u64)>>::reserve_rehash::<hashbrown::map::make_hasher<u32, "
		 "u64, std::hash::random::RandomState>::{closure#0}>",
				NO_LINES, "(u32, u64)"},
		{"<hashbrown::raw::RawTable<(u32, app::S)> as core::clone::Clone>::clone", NO_LINES, NULL},
		{"<alloc::collections::vec_deque::VecDeque<app::Job>>::grow", NO_LINES, "app::Job"},
		{"<alloc::raw_vec::RawVecInner>::finish_grow", NO_LINES, ""},
		{"<alloc::alloc::Global as core::alloc::Allocator>::allocate", NO_LINES, ""},
		{"alloc::alloc::alloc", LINES, ""},
		// Old ones have the parameter's name
		{"alloc::raw_vec::RawVec<T,A>::grow_one", OLD_RUST, ""},
		{"alloc::vec::Vec<T,A>::push", OLD_RUST, NULL},
		{"alloc::boxed::Box<T>::new", OLD_RUST, NULL},
		// Any bytes
		{"<", NO_LINES, NULL},
		{"<>", NO_LINES, NULL},
		{">::<", NO_LINES, NULL},
		{"::", NO_LINES, NULL},
		{"std::allocator<", NO_LINES, NULL},
		{"std::allocator<int::allocate(", NO_LINES, NULL},
		{"(anonymous", NO_LINES, NULL},
		{"(anonymous namespace)", NO_LINES, NULL},
		{"(anonymous namespace)::f(int)", NO_LINES, NULL},
		{"<alloc::vec::Vec<u8>>", NO_LINES, NULL},
		{"<alloc::vec::Vec<u8>>:", NO_LINES, NULL},
		{"<alloc::vec::Vec<u8>>::", NO_LINES, NULL},
		{" ", NO_LINES, NULL},
		{"f() ", NO_LINES, NULL},
};

static void knows_types_that_are_proved(void **state) {
	(void)state;
	struct arena arena = {0};
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		const struct sample *s = &samples[i];
		struct name frame = {.function = slice_of_text(s->function), .has_name = true};
		if (s->how == LINES) {
			frame.file = slice_of_text("/usr/include/c++/12/bits/new_allocator.h");
		} else if (s->how == OLD_RUST) {
			frame.symbol = slice_of_text(
					"_ZN5alloc3vec16Vec$LT$T$C$A$GT$4push17h0123456789abcdefE");
		}
		struct slice type = {0};
		enum type_proof proof = type_of_frame(&frame, &type);
		enum type_proof expected = !s->type ? TYPE_UNKNOWN
				: *s->type                  ? TYPE_PROVED
											: TYPE_PASSED_ON;
		if (proof != expected) {
			fail_msg("%s: %d", s->function, proof);
		}
		if (proof == TYPE_PROVED) {
			assert_string_equal(type_shown(type, &arena), s->type);
		}
	}
	arena_finish(&arena);
}

static void asks_no_code_without_a_name(void **state) {
	(void)state;
	struct slice type;
	struct name frame = {.function = slice_of_text("libx.so+0x12")};
	assert_int_equal(type_of_frame(&frame, &type), TYPE_UNKNOWN);
	frame = (struct name){.function = slice_of_text("my_alloc"),
			.has_name = true,
			.is_wrapper = true};
	assert_int_equal(type_of_frame(&frame, &type), TYPE_PASSED_ON);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(knows_types_that_are_proved),
			cmocka_unit_test(asks_no_code_without_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
