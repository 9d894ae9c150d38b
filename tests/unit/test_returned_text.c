// SPDX-License-Identifier: MIT

/*
 * The file to read is this test itself: functions as compilers write them, byte by byte, and some that
 * differ from them by one instruction.
 */

#include "elf/image.h"
#include "own_bytes.h"

#include <elf.h>

__asm__(".pushsection .rodata.returned, \"a\", @progbits\n"
		"the_text: .asciz \"leak:one\\nleak:two\\n\"\n"
		".popsection\n"
		".pushsection .data\n"
		"changing_text: .asciz \"leak:changing\\n\"\n"
		"the_address: .quad 0\n"
		".popsection\n");

// Never called
#define FUNCTION(name, code)                                                               \
	__asm__(".pushsection .text." name ", \"ax\", @progbits\n"                             \
			".globl " name "\n.type " name ", @function\n" name ":\n" code "\n.size " name \
			", . - " name "\n.popsection\n")

#define LOAD "lea the_text(%rip), %rax\n"
FUNCTION("returns_plainly", LOAD "ret");
FUNCTION("returns_with_frame", "push %rbp\nmov %rsp, %rbp\n" LOAD "pop %rbp\nret");
FUNCTION("returns_by_leave", "push %rbp\n.byte 0x48, 0x8b, 0xec\n" LOAD "leave\nret");
FUNCTION("returns_guarded", "endbr64\n" LOAD "repz ret");
FUNCTION("calls_first", "call abort@PLT\n" LOAD "ret");
FUNCTION("adds_one", LOAD "inc %rax\nret");
FUNCTION("leaves_no_frame", LOAD "pop %rbp\nret");
FUNCTION("keeps_its_frame", "push %rbp\nmov %rsp, %rbp\n" LOAD "ret");
FUNCTION("returns_null", "xor %eax, %eax\nret");
FUNCTION("returns_nowhere", "mov $1, %eax\nret");
FUNCTION("returns_what_changes", "lea changing_text(%rip), %rax\nret");
FUNCTION("loads", "mov the_address(%rip), %rax\nret");
FUNCTION("loads_a_number", "mov the_address(%rip), %eax\nret");
FUNCTION("loads_by_address", "lea the_address(%rip), %rax\nmov (%rax), %rax\nret");
FUNCTION("loads_a_number_by_address", "lea the_address(%rip), %rax\nmov (%rax), %eax\nret");
FUNCTION("loads_far", "lea the_address(%rip), %rax\nmov 8(%rax), %rax\nret");
FUNCTION("returns_code", "lea returns_code(%rip), %rcx\nret");

static void reads_what_compilers_write(void **state) {
	(void)state;
	static const char *const names[] = {"returns_plainly", "returns_with_frame", "returns_by_leave",
			"returns_guarded"};
	struct slice bytes = own_bytes(), text;
	struct elf_image e;
	assert_true(elf_image_init(&e, bytes));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_true(elf_returned_text(&e, names[i], &text));
		assert_true(slice_equal(text, slice_of_text("leak:one\nleak:two\n")));
	}
	free((void *)bytes.data);
}

static void refuses_all_else(void **state) {
	(void)state;
	static const char *const names[] = {"calls_first", "adds_one", "leaves_no_frame",
			"keeps_its_frame", "returns_null", "returns_nowhere", "returns_what_changes",
			"returns_code", "loads", "loads_by_address", "the_text", "main", "abort",
			"no_such_function", ""};
	struct slice bytes = own_bytes(), text;
	struct elf_image e;
	assert_true(elf_image_init(&e, bytes));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_false(elf_returned_text(&e, names[i], &text));
	}
	free((void *)bytes.data);
}

/** Its address, and what it returns by elf_returned. False: unknown. */
static bool returned_by(const struct elf_image *e, const char *name, struct elf_symbol *place,
		uint64_t *address, bool *is_loaded) {
	struct elf_symbols all = elf_symbols_all(e), again = elf_symbols_all(e);
	struct elf_symbol function;
	assert_true(elf_symbols_find(&all, name, &function));
	assert_true(elf_symbols_find(&again, "the_address", place));
	return elf_returned(e, function.address, address, is_loaded);
}

static void knows_what_is_loaded(void **state) {
	(void)state;
	static const char *const names[] = {"loads", "loads_a_number", "loads_by_address",
			"loads_a_number_by_address"};
	struct slice bytes = own_bytes();
	struct elf_image e;
	struct elf_symbol place;
	uint64_t address;
	bool is_loaded;
	assert_true(elf_image_init(&e, bytes));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_true(returned_by(&e, names[i], &place, &address, &is_loaded));
		assert_true(is_loaded);
		assert_int_equal(address, place.address);
	}
	assert_true(returned_by(&e, "returns_plainly", &place, &address, &is_loaded));
	assert_false(is_loaded);
	assert_false(returned_by(&e, "loads_far", &place, &address, &is_loaded));
	free((void *)bytes.data);
}

// ---- without position-independent code

struct load {
	const char *code;
	size_t size;
};

/** A program of one segment, which ends with the first `n` bytes of function f, and a text at 0x400100. */
static void make_program(uint8_t file[0x400], const struct load *load, size_t n) {
	Elf64_Ehdr header = {.e_ident = "\177ELF\2\1\1",
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_phoff = sizeof header,
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shoff = 0x200,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3};
	Elf64_Phdr segment = {.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = 0x400000,
			.p_filesz = 0x180 + n};
	Elf64_Sym f = {.st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x400180};
	Elf64_Shdr sections[3] = {[1] = {.sh_type = SHT_SYMTAB,
									  .sh_link = 2,
									  .sh_offset = 0x140,
									  .sh_size = 2 * sizeof f},
			[2] = {.sh_type = SHT_STRTAB, .sh_offset = 0x130, .sh_size = 3}};
	memset(file, 0, 0x400);
	memcpy(file, &header, sizeof header);
	memcpy(file + sizeof header, &segment, sizeof segment);
	memcpy(file + 0x100, "leak:far", 9);
	memcpy(file + 0x130, "\0f", 3);
	memcpy(file + 0x140 + sizeof f, &f, sizeof f);
	memcpy(file + 0x180, load->code, load->size);
	memcpy(file + 0x200, sections, sizeof sections);
}

static void reads_absolute_addresses(void **state) {
	(void)state;
	static const struct load loads[] = {
			{"\xb8\x00\x01\x40\x00\xc3", 6},
			{"\x48\xc7\xc0\x00\x01\x40\x00\xc3", 8},
			{"\x48\xb8\x00\x01\x40\x00\x00\x00\x00\x00\xc3", 11},
	};
	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
		for (size_t n = 0; n <= loads[i].size; n++) {
			uint8_t file[0x400];
			make_program(file, &loads[i], n);
			struct elf_image e;
			struct slice text;
			assert_true(elf_image_init(&e, slice_of(file, sizeof file)));
			bool is_whole = n == loads[i].size;
			assert_int_equal(elf_returned_text(&e, "f", &text), is_whole);
			assert_true(!is_whole || slice_equal(text, slice_of_text("leak:far")));
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(reads_what_compilers_write),
			cmocka_unit_test(refuses_all_else),
			cmocka_unit_test(knows_what_is_loaded),
			cmocka_unit_test(reads_absolute_addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
