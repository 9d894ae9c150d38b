// SPDX-License-Identifier: MIT
/*
 * What proves a block's type: debug data at the call, else a table of functions. A frame proves a
 * type only if everything it requests is of this type; a constructor inlined into it requests
 * something else. So most rows are functions that construct nothing; others need debug data, which
 * name what was inlined. Old Rust names have a type parameter ("T") if debug data do not tell.
 */
#include "engine/views/types.h"

#include "engine/names/owner.h"

enum where {
	OF_CLASS,     // the class's first argument: Vec<T>::push
	OF_METHOD,    // the function's own: make_unique<T>
	OF_ALLOCATOR, // the class's first argument is an allocator of it
};

static const struct row {
	const char *class;
	const char *methods; // a list of texts; "new*" is a prefix; NULL: any
	uint8_t where;
	bool needs_lines;
} rows[] = {
		{"std::__new_allocator", "|allocate", OF_CLASS, false},
		{"__gnu_cxx::new_allocator", "|allocate", OF_CLASS, false},
		{"std::allocator", "|allocate|allocate_at_least", OF_CLASS, false},
		{"std::allocator_traits", "|allocate|allocate_at_least", OF_ALLOCATOR, false},
		{"__gnu_cxx::__alloc_traits", "|allocate", OF_ALLOCATOR, false},
		{"std::_Vector_base", "|_M_allocate|_M_create_storage", OF_CLASS, false},
		{"std::_Deque_base", "|_M_allocate_node", OF_CLASS, false},
		{"std::basic_string", NULL, OF_CLASS, false},
		{"std", "|make_unique", OF_METHOD, true},
		{"alloc::raw_vec::RawVec", NULL, OF_CLASS, false},
		{"alloc::vec::Vec",
				"|push|push_mut|with_capacity*|reserve|reserve_exact|try_reserve*|shrink_to*"
				"|into_boxed_slice|insert|append|grow_one",
				OF_CLASS, false},
		{"alloc::collections::vec_deque::VecDeque",
				"|grow|push_back*|push_front*|with_capacity*|reserve*", OF_CLASS, false},
		{"alloc::boxed::Box", "|new*|try_new*", OF_CLASS, false},
		{"alloc::boxed", "|box_new", OF_METHOD, false},
		{"alloc::rc::Rc", "|new", OF_CLASS, false},
		{"alloc::sync::Arc", "|new", OF_CLASS, false},
		{"hashbrown::raw::RawTable",
				"|reserve*|with_capacity*|fallible_with_capacity*|try_with_capacity*|new*|resize*",
				OF_CLASS, false},
};

// Functions between those and the allocator
static const char passing[] =
		"|alloc::alloc::|<alloc::alloc::Global|std::alloc::|alloc::raw_vec::"
		"|<alloc::raw_vec::RawVecInner|alloc::boxed::box_new_uninit|hashbrown::raw::alloc::"
		"|<hashbrown::raw::RawTableInner|hashbrown::raw::RawTableInner|std::__1::__libcpp_allocate"
		"|std::__1::__libcpp_operator_new|void* std::__1::__libcpp_operator_new"
		"|std::__1::__allocate_at_least|auto std::__1::__allocate_at_least";

static const struct {
	const char *class, *before, *behind;
} holders[] = {
		{"std::_List_node", "node of std::list<", ">"},
		{"std::__list_node", "node of std::list<", ">"},
		{"std::_Fwd_list_node", "node of std::forward_list<", ">"},
		{"std::__forward_list_node", "node of std::forward_list<", ">"},
		{"std::_Rb_tree_node", "node of a tree of ", ""},
		{"std::__tree_node", "node of a tree of ", ""},
		{"std::__detail::_Hash_node", "node of a hash table of ", ""},
		{"std::__hash_node", "node of a hash table of ", ""},
		{"std::_Sp_counted_ptr_inplace", "", " and its reference counts"},
		{"std::__shared_ptr_emplace", "", " and its reference counts"},
		{"alloc::rc::RcInner", "", " and its reference counts"},
		{"alloc::rc::RcBox", "", " and its reference counts"},
		{"alloc::sync::ArcInner", "", " and its reference counts"},
};

static struct slice part(struct slice s, size_t from, size_t to) {
	return slice_of(s.data + from, to - from);
}

/** Where the bracket that begins a name is closed, or the size. */
static size_t closed_at(struct slice s) {
	return 1 + find_outside_brackets(part(s, 1, s.size), ">)]}");
}

/** A class or function apart from its arguments: "std::list" and "int". */
struct template {
	struct slice name, arguments;
};

static struct template template_of(struct slice s) {
	size_t at = find_outside_brackets(s, "<[");
	struct template out = {.name = part(s, 0, at)};
	if (at < s.size && s.data[at] == '<') {
		struct slice rest = part(s, at, s.size);
		size_t end = closed_at(rest);
		out.arguments = end < rest.size ? part(rest, 1, end) : (struct slice){0};
	}
	while (out.name.size > 0 && out.name.data[out.name.size - 1] == ':') {
		out.name.size--; // "box_new::<T>"
	}
	return out;
}

static struct slice first_argument(struct slice arguments) {
	return trimmed(part(arguments, 0, find_outside_brackets(arguments, ",")));
}

/** Ignores the library's inline namespaces: "std::__cxx11::", "std::__1::". */
static bool is_class(struct slice s, const char *class) {
	static const char *const between[] = {"__cxx11::", "__1::"};
	size_t std = sizeof "std::" - 1, n = strlen(class);
	for (size_t i = 0; i < N_OF(between) && starts_with(s, "std::"); i++) {
		struct slice rest = part(s, std, s.size);
		if (starts_with(rest, between[i]) && strncmp(class, "std::", std) == 0) {
			rest = part(rest, strlen(between[i]), rest.size);
			return slice_equal(rest, slice_of(class + std, n - std));
		}
	}
	return slice_equal(s, slice_of(class, n)) ||
			(strcmp(class, "std") == 0 && slice_is(s, "std::__1"));
}

static bool is_method(struct slice s, const char *methods) {
	struct slice pattern;
	return !methods || SOME(next_text(&methods, &pattern), has_parts(s, pattern, true, true));
}

/** Split a function into class and name, each with arguments. False: no class. */
static bool split(struct slice f, struct template *class, struct template *method) {
	if (starts_with(f, "<")) { // Rust: "<alloc::vec::Vec<T> as Trait>::method"
		size_t end = closed_at(f);
		if (end + 3 > f.size) {
			return false;
		}
		*class = template_of(part(f, 1, 1 + find_outside_brackets(part(f, 1, end), " ")));
		*method = template_of(part(f, end + 3, f.size));
		return true;
	}
	f = function_bare(f);
	size_t at = last_part_at(f);
	if (at > 2 && at < f.size && f.data[at] == '<') { // "alloc::boxed::box_new::<T>"
		at = last_part_at(part(f, 0, at - 2));
	}
	if (at < 2) {
		return false;
	}
	*class = template_of(part(f, 0, at - 2));
	*method = template_of(part(f, at, f.size));
	method->name.size = find_outside_brackets(method->name, "["); // allocate[abi:v15006]
	return true;
}

static struct slice argument_of(const struct row *row, const struct template *class,
		const struct template *method) {
	if (row->where == OF_METHOD) {
		return first_argument(method->arguments);
	}
	struct slice first = first_argument(class->arguments);
	if (row->where == OF_CLASS) {
		return first;
	}
	struct template allocator = template_of(first);
	return is_class(allocator.name, "std::allocator") ? first_argument(allocator.arguments)
													  : (struct slice){0};
}

/** "T", not "u8" or "app::Point": Rust's types have a path, or begin with a lower-case letter. */
static bool is_parameter(struct slice type) {
	return type.size > 0 && isupper(type.data[0]) && !memchr(type.data, ':', type.size);
}

enum type_proof type_of_frame(const struct name *frame, struct slice *type) {
	struct template class, method;
	if (frame->type.size > 0) {
		*type = frame->type;
		return TYPE_PROVED;
	}
	if (!frame->has_name) {
		return TYPE_UNKNOWN;
	}
	bool is_old_rust = starts_with(frame->symbol, "_ZN") && owner_is_rust_symbol(frame->symbol);
	if (split(frame->function, &class, &method)) {
		EACH_NUMBER(i, N_OF(rows),
				is_class(class.name, rows[i].class) && is_method(method.name, rows[i].methods) &&
						(!rows[i].needs_lines || frame->file.size > 0)) {
			*type = argument_of(&rows[i], &class, &method);
			if (is_old_rust && is_parameter(*type)) {
				break;
			}
			return type->size > 0 ? TYPE_PROVED : TYPE_UNKNOWN;
		}
	}
	return frame->is_wrapper || starts_with_any(frame->function, passing) ? TYPE_PASSED_ON
																		  : TYPE_UNKNOWN;
}

const struct name *type_of_stack(const struct recording *r, const struct names *n, uint32_t node,
		struct slice *type) {
	struct stack_walk w = stack_walk_init(r, n, node);
	enum type_proof proof = TYPE_PASSED_ON;
	const struct name *last = NEXT_FRAME_THAT(frame, &w,
			(proof = type_of_frame(frame, type)) != TYPE_PASSED_ON);
	return proof == TYPE_PROVED ? last : NULL;
}

// ---- for display

/** The length of a default allocator's text: ", std::allocator<int>" before a ">". */
static size_t default_allocator(struct slice s) {
	static const char text[] = ", std::allocator";
	if (!starts_with(s, text) || s.size == sizeof text - 1 || s.data[sizeof text - 1] != '<') {
		return 0;
	}
	size_t n = sizeof text - 1;
	n += closed_at(part(s, n, s.size)) + 1;
	size_t next = n < s.size && s.data[n] == ' ' ? n + 1 : n;
	return next < s.size && s.data[next] == '>' ? n : 0;
}

static void put_plain(struct buffer *out, struct slice s) {
	static const struct {
		const char *long_one, *short_one;
	} words[] = {
			{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
					"std::string"},
			{"std::__1::basic_string<char, std::__1::char_traits<char>, "
			 "std::__1::allocator<char> >",
					"std::string"},
			{"std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>>",
					"std::string"},
			{"__cxx11::", ""},
			{"__1::", ""},
			{" >", ">"},
			{", alloc::alloc::Global>", ">"},
	};
	while (s.size > 0) {
		size_t taken = 0;
		EACH_NUMBER(i, N_OF(words), taken == 0 && starts_with(s, words[i].long_one)) {
			buffer_text(out, words[i].short_one);
			taken = strlen(words[i].long_one);
		}
		taken = taken ? taken : default_allocator(s);
		if (taken == 0) {
			buffer_u8(out, s.data[0]);
			taken = 1;
		}
		s = part(s, taken, s.size);
	}
}

/** Twice, since libc++'s allocators are only recognized without the inline namespace. */
static const char *plain(struct slice s, struct arena *arena) {
	SCOPED(buffer) once = {0}, twice = {0};
	put_plain(&once, s);
	put_plain(&twice, buffer_view(&once));
	return arena_text(arena, buffer_view(&twice));
}

const char *type_shown(struct slice type, struct arena *arena) {
	struct template t = template_of(type);
	bool is_whole = t.arguments.size > 0 &&
			(t.arguments.data + t.arguments.size + 1) == type.data + type.size;
	__auto_type holder = FIND(h, holders, is_whole ? N_OF(holders) : 0, is_class(t.name, h->class));
	const char *before = holder ? holder->before : "", *behind = holder ? holder->behind : "";
	return arena_printf(arena, "%s%s%s", before,
			plain(holder ? first_argument(t.arguments) : type, arena), behind);
}
