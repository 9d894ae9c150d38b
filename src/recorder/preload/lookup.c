// SPDX-License-Identifier: MIT
#include "recorder/preload/lookup.h"

#include "machine.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The tables of an object, and what is looked for in them. */
struct search {
	const char *name;
	const void *ours;
	void *found;
};

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
};

/** glibc makes addresses of what the file has as offsets; other loaders leave them. */
static const void *at(const struct dl_phdr_info *info, ElfW(Addr) address) {
	return (const void *)(address < info->dlpi_addr ? info->dlpi_addr + address : address);
}

static bool read_tables(struct tables *t, const struct dl_phdr_info *info) {
	const ElfW(Dyn) *d = NULL;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
			d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		}
	}
	*t = (struct tables){0};
	for (; d != NULL && d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB: t->symbols = at(info, d->d_un.d_ptr); break;
		case DT_STRTAB: t->names = at(info, d->d_un.d_ptr); break;
		case DT_GNU_HASH: t->gnu_hash = at(info, d->d_un.d_ptr); break;
		case DT_HASH: t->hash = at(info, d->d_un.d_ptr); break;
		default: break;
		}
	}
	return t->symbols != NULL && t->names != NULL;
}

/** One past the last symbol that the GNU hash lists: the end of the chain of the last bucket. */
static uint32_t count_by_gnu_hash(const uint32_t *h) {
	uint32_t n_buckets = h[0];
	uint32_t first = h[1];
	const uint32_t *buckets = h + 4 + h[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chains = buckets + n_buckets;
	uint32_t last = 0;
	for (uint32_t i = 0; i < n_buckets; i++) {
		last = buckets[i] > last ? buckets[i] : last;
	}
	if (last < first) {
		return 0;
	}
	while ((chains[last - first] & 1) == 0) {
		last++;
	}
	return last + 1;
}

static bool is_equal(const char *a, const char *b) {
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/** A function that the object defines, but not `ours`. */
static void *find_in_object(const struct dl_phdr_info *info, const char *name, const void *ours) {
	struct tables t;
	if (!read_tables(&t, info)) {
		return NULL;
	}
	uint32_t n = t.hash != NULL  ? t.hash[1]
			: t.gnu_hash != NULL ? count_by_gnu_hash(t.gnu_hash)
								 : 0;
	for (uint32_t i = 1; i < n; i++) {
		const ElfW(Sym) *symbol = &t.symbols[i];
		void *function = (void *)(info->dlpi_addr + symbol->st_value);
		if (symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 0xf) == STT_FUNC &&
				function != ours && is_equal(t.names + symbol->st_name, name)) {
			return function;
		}
	}
	return NULL;
}

static int search_object(struct dl_phdr_info *info, size_t bytes, void *arg) {
	(void)bytes;
	struct search *s = arg;
	s->found = find_in_object(info, s->name, s->ours);
	return s->found != NULL;
}

void *lookup_function(const char *name, const void *ours) {
	struct search s = {.name = name, .ours = ours};
	(void)dl_iterate_phdr(search_object, &s);
	return s.found;
}

static bool is_of_object(const struct dl_phdr_info *info, const void *address) {
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD &&
				(uint64_t)address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz) {
			return true;
		}
	}
	return false;
}

static int search_beside(struct dl_phdr_info *info, size_t bytes, void *arg) {
	(void)bytes;
	struct search *s = arg;
	if (!is_of_object(info, s->ours)) {
		return 0;
	}
	s->found = find_in_object(info, s->name, s->ours);
	return 1;
}

MACHINE_ALIGNS_STACK bool lookup_is_beside(const void *function, const char *name) {
	struct search s = {.name = name, .ours = function};
	(void)dl_iterate_phdr(search_beside, &s);
	return s.found != NULL;
}

void *lookup_in_image(const void *image, const char *name) {
	const ElfW(Ehdr) *head = image;
	struct dl_phdr_info info = {
			.dlpi_phdr = (const ElfW(Phdr) *)((uintptr_t)image + head->e_phoff),
			.dlpi_phnum = head->e_phnum,
	};
	int i = 0;
	while (i < info.dlpi_phnum && info.dlpi_phdr[i].p_type != PT_LOAD) {
		i++;
	}
	if (i == info.dlpi_phnum) {
		return NULL;
	}
	info.dlpi_addr = (ElfW(Addr))image - info.dlpi_phdr[i].p_vaddr + info.dlpi_phdr[i].p_offset;
	return find_in_object(&info, name, NULL);
}
