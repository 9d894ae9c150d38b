// SPDX-License-Identifier: MIT
/* Sorts functions by address, and chooses among those at the same one. */
#include "symbols/names/names.h"

/** Best: sized, a function, global, without leading underscores. */
static uint8_t rank_of(const struct elf_symbol *s) {
	unsigned rank = s->size ? 0 : 32;
	rank += s->type == STT_NOTYPE ? 16 : 0;
	rank += s->binding == STB_GLOBAL ? 0 : s->binding == STB_WEAK ? 4 : 8;
	rank += s->name[0] != '_' || s->name[1] == 'Z' || s->name[1] == 'R' ? 0
			: s->name[1] != '_'                                         ? 1
																		: 2;
	return (uint8_t)rank;
}

static void add(struct symbol_table *t, const struct elf_symbol *s, uint64_t section_end) {
	struct symbol_entry *e = vec_push(t);
	e->start = s->address;
	e->is_sized = s->size > 0;
	// Unsized: to the end of its section; sorting cuts it at the next function
	e->end = s->size && s->size <= UINT64_MAX - s->address ? s->address + s->size : section_end;
	e->name = s->name;
	e->rank = rank_of(s);
	t->is_nim |= s->name[0] == 'N' && strcmp(s->name, "NimMain") == 0;
}

static bool is_wanted(const struct elf_symbol *s, const struct elf_section *section,
		enum symbol_sort sort) {
	bool is_code = section->flags & SHF_EXECINSTR;
	return sort == SYMBOL_VARIABLES
			? s->type == STT_OBJECT && s->size > 0 && section->flags & SHF_ALLOC && !is_code
			: is_code &&
					(s->type == STT_FUNC || s->type == STT_GNU_IFUNC ||
							(s->type == STT_NOTYPE && s->name[0] != '$' &&
									strncmp(s->name, ".L", 2) != 0));
}

void symbol_table_add(struct symbol_table *t, const struct elf_image *image, uint32_t section_type,
		enum symbol_sort sort) {
	struct elf_symbols symbols = elf_symbols_of(image, section_type);
	struct elf_symbol s;
	struct elf_section section;
	while (elf_symbols_next(&symbols, &s)) {
		if (s.name[0] && s.section != SHN_UNDEF && elf_section_at(image, s.section, &section) &&
				is_wanted(&s, &section, sort) && s.address - section.address < section.size) {
			add(t, &s, section.address + section.size);
		}
	}
}

/** Entries by address; of several at one address, the one to show. */
static struct symbol_entry *in_order(const struct symbol_table *t, size_t *n) {
	FREED struct radix_item *order = memory_new(t->n, 2 * sizeof *order);
	struct symbol_entry *sorted = memory_new(t->n, sizeof *sorted);
	for (size_t i = 0; i < t->n; i++) {
		order[i] = (struct radix_item){.key = t->items[i].start, .value = i};
	}
	radix_sort(order, order + t->n, t->n);
	*n = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct symbol_entry *e = &t->items[order[i].value];
		struct symbol_entry *last = i > 0 ? &sorted[*n - 1] : NULL;
		if (!last || last->start != e->start) {
			sorted[(*n)++] = *e;
		} else if (e->rank < last->rank ||
				(e->rank == last->rank && strcmp(e->name, last->name) < 0)) {
			*last = *e;
		}
	}
	return sorted;
}

void symbol_table_sort(struct symbol_table *t) {
	size_t n;
	struct symbol_entry *sorted = in_order(t, &n);
	free(t->items);
	t->capacity = t->n;
	t->items = sorted;
	t->n = n;
	uint64_t reach = 0;
	EACH(e, *t) {
		if (!e->is_sized && e + 1 < t->items + n && e[1].start < e->end) {
			e->end = e[1].start;
		}
		reach = e->end > reach ? e->end : reach;
		e->reach = reach;
	}
}

const struct symbol_entry *symbol_table_find(const struct symbol_table *t, uint64_t address) {
	size_t behind = address == UINT64_MAX
			? t->n
			: sorted_first_of(t->items, t->n, sizeof *t->items, address + 1);
	// Backwards while anything reaches here; few symbols nest, so this is short
	const struct symbol_entry *label = NULL;
	for (size_t i = behind, steps = 0; i-- > 0 && t->items[i].reach > address && steps < 1000;
			steps++) {
		const struct symbol_entry *e = &t->items[i];
		if (e->end <= address) {
			continue;
		}
		if (e->is_sized) {
			return e;
		}
		label = label ? label : e;
	}
	return label;
}
