// SPDX-License-Identifier: MIT
/* Finds functions by name in the symbol tables of the loaded objects, and changes these. */
#include "recorder/core/sys.h"
#include "recorder/preload/real.h"

#include <link.h>

enum where { ELSEWHERE, BEHIND, WITHIN }; // of the object of `ours`

/** A search for a function in the loaded objects. */
struct search {
	enum where where;
	unsigned n_left; // objects still to look at
	const char *name;
	const void *ours;
	bool is_past_ours;
	struct dl_phdr_info info; // of the last wanted object,
	const ElfW(Sym) * symbol; // and the function there; NULL: it has none of that name
};

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
};

/** glibc turns the file's offsets into addresses; other loaders leave them. */
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

static bool is_function(const struct tables *t, const ElfW(Sym) * symbol, const char *name) {
	const char *rest = sys_after(t->names + symbol->st_name, name);
	return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 0xf) == STT_FUNC && rest != NULL &&
			*rest == '\0';
}

static uint32_t gnu_hash_of(const char *name) {
	uint32_t hash = 5381;
	for (; *name != '\0'; name++) {
		hash = hash * 33 + (unsigned char)*name;
	}
	return hash;
}

/** The buckets, each with the first symbol of its names. The symbols' hashes follow, in chains. */
static const uint32_t *gnu_buckets(const uint32_t *gnu_hash) {
	return gnu_hash + 4 + gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
}

/** False: the object lacks that name. Rarely true for a name that it lacks. */
static bool may_have(const uint32_t *gnu_hash, uint32_t hash) {
	enum { BITS = 8 * sizeof(ElfW(Addr)) };
	uint32_t n_words = gnu_hash[2];
	const ElfW(Addr) *words = (const ElfW(Addr) *)(const void *)(gnu_hash + 4);
	ElfW(Addr) word = n_words != 0 ? words[hash / BITS % n_words] : 0;
	return (word >> (hash % BITS) & word >> ((hash >> gnu_hash[3]) % BITS) & 1) != 0;
}

/** By the chain of the name's hash; the last bit of each hash there ends the chain. */
static const ElfW(Sym) * find_by_gnu_hash(const struct tables *t, const char *name, uint32_t hash) {
	uint32_t n_buckets = t->gnu_hash[0];
	uint32_t first = t->gnu_hash[1];
	const uint32_t *buckets = gnu_buckets(t->gnu_hash);
	const uint32_t *chains = buckets + n_buckets;
	bool is_there = n_buckets != 0 && may_have(t->gnu_hash, hash);
	uint32_t i = is_there ? buckets[hash % n_buckets] : 0;
	for (bool is_last = i < first; !is_last; i++) {
		is_last = (chains[i - first] & 1) != 0;
		if ((chains[i - first] | 1) == (hash | 1) && is_function(t, &t->symbols[i], name)) {
			return &t->symbols[i];
		}
	}
	return NULL;
}

static const ElfW(Sym) * find_by_tables(const struct tables *t, const char *name, uint32_t hash) {
	if (t->gnu_hash != NULL) {
		return find_by_gnu_hash(t, name, hash);
	}
	for (uint32_t i = 1; t->hash != NULL && i < t->hash[1]; i++) {
		if (is_function(t, &t->symbols[i], name)) {
			return &t->symbols[i];
		}
	}
	return NULL;
}

/** A function that the object defines. */
static const ElfW(Sym) * find_symbol(const struct dl_phdr_info *info, const char *name) {
	struct tables t;
	return read_tables(&t, info) ? find_by_tables(&t, name, gnu_hash_of(name)) : NULL;
}

static void *address_of(const struct dl_phdr_info *info, const ElfW(Sym) * symbol) {
	return symbol != NULL ? (void *)(info->dlpi_addr + symbol->st_value) : NULL;
}

/** The segment that contains an address; NULL: it is another object's. */
static const ElfW(Phdr) * segment_of(const struct dl_phdr_info *info, const void *address) {
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD &&
				(uint64_t)address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz) {
			return p;
		}
	}
	return NULL;
}

static int count_object(struct dl_phdr_info *info, size_t bytes, void *n) {
	(void)info;
	(void)bytes;
	++*(unsigned *)n;
	return 0;
}

/**
 * How many objects the program was started with: those at the first look, which the loader's own
 * first allocation causes. They come first in each later look, too.
 */
static unsigned count_first_objects(void) {
	static _Atomic unsigned known;
	unsigned n = known;
	if (n == 0) {
		(void)dl_iterate_phdr(count_object, &n);
		known = n;
	}
	return n;
}

static int search_object(struct dl_phdr_info *info, size_t bytes, void *arg) {
	(void)bytes;
	struct search *s = arg;
	if (s->n_left-- == 0) {
		return 1;
	}
	bool is_ours = segment_of(info, s->ours) != NULL;
	bool is_wanted = s->where == WITHIN ? is_ours
										: !is_ours && (s->where == ELSEWHERE || s->is_past_ours);
	s->is_past_ours = s->is_past_ours || is_ours;
	if (is_wanted) {
		s->info = *info;
		s->symbol = find_symbol(info, s->name);
	}
	return s->symbol != NULL || (is_wanted && s->where == WITHIN);
}

static struct search search(enum where where, unsigned n_objects, const char *name,
		const void *ours) {
	struct search s = {.where = where, .n_left = n_objects, .name = name, .ours = ours};
	(void)dl_iterate_phdr(search_object, &s);
	return s;
}

void *lookup_function(const char *name, const void *ours) {
	const struct search s = search(ELSEWHERE, UINT32_MAX, name, ours);
	return address_of(&s.info, s.symbol);
}

void *lookup_next(const char *name, const void *ours) {
	const struct search s = search(BEHIND, count_first_objects(), name, ours);
	return address_of(&s.info, s.symbol);
}

MACHINE_ALIGNS_STACK bool lookup_is_beside(const void *function, const char *name) {
	return search(WITHIN, UINT32_MAX, name, function).symbol != NULL;
}

MACHINE_ALIGNS_STACK const char *lookup_path(const void *ours) {
	return search(WITHIN, UINT32_MAX, "", ours).info.dlpi_name;
}

// ---- redirecting

/** Make the pages that contain symbols writable, or as they were. */
static bool protect(const struct dl_phdr_info *info, const ElfW(Sym) * symbols, uint32_t n,
		bool is_writable) {
	const ElfW(Phdr) *segment = segment_of(info, symbols);
	// Keep its other rights: the segment may contain code that other threads are running
	int flags = segment == NULL ? 0 : (int)segment->p_flags;
	int protection = ((flags & PF_R) != 0 ? PROT_READ : 0) |
			((flags & PF_W) != 0 || is_writable ? PROT_WRITE : 0) |
			((flags & PF_X) != 0 ? PROT_EXEC : 0);
	bool is_done = false;
	// The kernel refuses what does not begin at a page boundary
	for (size_t bytes = MACHINE_PAGE_LEAST;
			segment != NULL && !is_done && bytes <= MACHINE_PAGE_MOST; bytes *= 2) {
		uintptr_t page = (uintptr_t)symbols & ~(uintptr_t)(bytes - 1);
		is_done = sys_mprotect((void *)page, (uintptr_t)(symbols + n) - page, protection);
	}
	return is_done;
}

static void set_value(const ElfW(Sym) * symbol, uint64_t value) {
	__atomic_store_n((uint64_t *)(uintptr_t)&symbol->st_value, value, __ATOMIC_RELAXED);
}

/** The symbol by which that function is found in its object; NULL: it is not in this one. */
static const ElfW(Sym) *
		symbol_of(const struct redirection *r, const struct tables *t,
				const struct dl_phdr_info *info) {
	const ElfW(Sym) *s = find_by_tables(t, r->name, gnu_hash_of(r->name));
	return s != NULL && address_of(info, s) == r->from ? s : NULL;
}

void lookup_redirect(const struct redirection *all, size_t n) {
	const struct dl_phdr_info info = search(WITHIN, UINT32_MAX, "", all->from).info;
	const ElfW(Sym) *first = NULL, *last = NULL;
	struct tables t;
	if (!read_tables(&t, &info)) {
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const ElfW(Sym) *s = symbol_of(&all[i], &t, &info);
		first = s != NULL && (first == NULL || s < first) ? s : first;
		last = s > last ? s : last;
	}
	// Together: each change of a protection costs 2 us
	if (first == NULL || !protect(&info, first, (uint32_t)(last - first) + 1, true)) {
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const ElfW(Sym) *s = symbol_of(&all[i], &t, &info);
		if (s != NULL) {
			set_value(s, (uint64_t)all[i].to - info.dlpi_addr);
		}
	}
	(void)protect(&info, first, (uint32_t)(last - first) + 1, false);
}

// ---- hiding

enum { HIDDEN_MAX = 512 };

/** Our functions, and which of them an object loaded at the program's start defines, too. */
struct hiding {
	const void *ours;
	unsigned n_left; // objects still to look at
	bool is_past_ours;
	struct tables tables;
	uint32_t first, n; // symbols
	uint32_t hashes[HIDDEN_MAX];
	bool is_kept[HIDDEN_MAX];
};

static const char *name_of_ours(const struct hiding *h, uint32_t i) {
	return h->tables.names + h->tables.symbols[h->first + i].st_name;
}

/** The loader's hash table has all that we define, behind what we only use. */
static void list_ours(struct hiding *h, bool (*stays)(const char *name)) {
	const uint32_t *table = h->tables.gnu_hash;
	const uint32_t *buckets = gnu_buckets(table), *chains = buckets + table[0];
	uint32_t last = 0;
	for (uint32_t i = 0; i < table[0]; i++) {
		last = buckets[i] > last ? buckets[i] : last;
	}
	h->first = table[1];
	while (last >= h->first && (chains[last - h->first] & 1) == 0) {
		last++;
	}
	h->n = last >= h->first && last - h->first < HIDDEN_MAX ? last - h->first + 1 : 0;
	for (uint32_t i = 0; i < h->n; i++) {
		h->hashes[i] = gnu_hash_of(name_of_ours(h, i));
		h->is_kept[i] = stays(name_of_ours(h, i));
	}
}

static int look_who_defines(struct dl_phdr_info *info, size_t bytes, void *arg) {
	(void)bytes;
	struct hiding *h = arg;
	struct tables t;
	bool may_define = h->n_left != 0 && h->is_past_ours && read_tables(&t, info);
	for (uint32_t i = 0; may_define && i < h->n; i++) {
		h->is_kept[i] = h->is_kept[i] ||
				find_by_tables(&t, name_of_ours(h, i), h->hashes[i]) != NULL;
	}
	h->is_past_ours = h->is_past_ours || segment_of(info, h->ours) != NULL;
	return h->n_left-- == 0;
}

void lookup_hide(const void *ours, bool (*stays)(const char *name)) {
	const struct dl_phdr_info info = search(WITHIN, UINT32_MAX, "", ours).info;
	struct hiding h = {.ours = ours, .n_left = count_first_objects()};
	if (!read_tables(&h.tables, &info) || h.tables.gnu_hash == NULL) {
		return;
	}
	list_ours(&h, stays);
	(void)dl_iterate_phdr(look_who_defines, &h);
	const ElfW(Sym) *symbols = h.tables.symbols + h.first;
	if (h.n == 0 || !protect(&info, symbols, h.n, true)) {
		return;
	}
	for (uint32_t i = 0; i < h.n; i++) {
		if (!h.is_kept[i]) {
			set_value(&symbols[i], 0);
		}
	}
	(void)protect(&info, symbols, h.n, false);
}

// ---- images

void *lookup_in_image(uint64_t start, const char *name) {
	struct image image;
	if (!image_read(&image, start)) {
		return NULL;
	}
	const ElfW(Ehdr) *head = (const void *)start;
	const struct dl_phdr_info info = {
			.dlpi_addr = image.bias,
			.dlpi_phdr = (const void *)(start + head->e_phoff),
			.dlpi_phnum = head->e_phnum,
	};
	return address_of(&info, find_symbol(&info, name));
}
