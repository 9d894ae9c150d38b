// SPDX-License-Identifier: MIT
/* What ld.so would do with libheaptrack_inject.so, without a process to do it in. */
#include "injector/resident/blob.h"

#include "machine.h"
#include "sys/sys.h"

enum { PAGE = 4096, IMAGE_MAX = 64 << 20 };

static bool add_part(struct blob *b, const struct elf_segment *segment) {
	if (b->n_parts == sizeof b->parts / sizeof *b->parts) {
		return false;
	}
	uint64_t at = segment->address & ~(uint64_t)(PAGE - 1);
	uint64_t end = (segment->address + segment->memory_bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	struct blob_part *part = &b->parts[b->n_parts++];
	*part = (struct blob_part){at, end - at,
			((segment->flags & PF_R) ? PROT_READ : 0) | ((segment->flags & PF_W) ? PROT_WRITE : 0) |
					((segment->flags & PF_X) ? PROT_EXEC : 0)};
	if (part->protection & PROT_EXEC) {
		b->text_at = at;
		b->text_bytes = part->bytes;
	} else if (part->protection & PROT_WRITE) {
		b->data_at = at;
		b->data_bytes = part->bytes;
	}
	b->n_bytes = end > b->n_bytes ? end : b->n_bytes;
	return end < IMAGE_MAX;
}

static bool copy_segments(struct blob *b, const struct elf_image *image, struct err *err) {
	struct elf_segment segment;
	for (uint32_t i = 0; elf_segment_at(image, i, &segment); i++) {
		if (segment.type == PT_LOAD && !add_part(b, &segment)) {
			return err_set(err, ERR_FORMAT, "too many or too large segments");
		}
	}
	b->bytes = calloc(1, b->n_bytes ? b->n_bytes : 1);
	if (!b->bytes) {
		return err_memory(err);
	}
	for (uint32_t i = 0; elf_segment_at(image, i, &segment); i++) {
		if (segment.type != PT_LOAD) {
			continue;
		}
		if (segment.offset + segment.file_bytes > image->bytes.size ||
				segment.address + segment.file_bytes > b->n_bytes) {
			return err_set(err, ERR_FORMAT, "a segment lies outside of the file");
		}
		memcpy(b->bytes + segment.address, image->bytes.data + segment.offset, segment.file_bytes);
	}
	return true;
}

static bool find_names(struct blob *b, const struct elf_image *image, struct err *err) {
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	struct elf_section section;
	if (!elf_symbols_init(&symbols, image, SHT_DYNSYM)) {
		return err_set(err, ERR_FORMAT, "no symbols");
	}
	const struct {
		const char *name;
		uint64_t *at;
	} names[] = {
			{"inject_begin", &b->begin_at},
			{"inject_errand", &b->errand_at},
			{"inject_has_tids", &b->has_tids_at},
			{"inject_resident", &b->resident_at},
			{"inject_stub", &b->stub_at},
			{"inject_thread_caches", &b->thread_caches_at},
			{"inject_stub_allocates", &b->stub_allocates_at},
			{"inject_stub_calls", &b->stub_calls_at},
			{"inject_stub_frees", &b->stub_frees_at},
			{"inject_threads", &b->threads_at},
	};
	enum { N_NAMES = sizeof names / sizeof *names };
	size_t n_found = 0;
	while (elf_symbols_next(&symbols, &symbol)) {
		for (size_t i = 0; i < N_NAMES; i++) {
			if (strcmp(symbol.name, names[i].name) == 0) {
				*names[i].at = symbol.address;
				n_found++;
			}
		}
	}
	if (elf_section_find(image, ".eh_frame", &section)) {
		b->frames_at = section.address;
	}
	struct slice id = elf_build_id(image);
	memcpy(b->id, id.data, id.size < sizeof b->id ? id.size : sizeof b->id);
	return (n_found == N_NAMES && b->frames_at && b->text_bytes && b->data_bytes && id.size > 0) ||
			err_set(err, ERR_FORMAT, "names are missing");
}

/**
 * Make the image one that lies at `address`. False: a relocation does more than add that, so there
 * is something to link.
 */
static bool place(struct blob *b, const struct elf_image *image, uint64_t address) {
	struct elf_section section;
	for (uint32_t i = 0; elf_section_at(image, i, &section); i++) {
		struct slice bytes = elf_section_bytes(image, &section);
		if (section.type == SHT_REL) {
			return false;
		}
		for (size_t at = 0; section.type == SHT_RELA && at + sizeof(Elf64_Rela) <= bytes.size;
				at += sizeof(Elf64_Rela)) {
			Elf64_Rela rela;
			memcpy(&rela, bytes.data + at, sizeof rela);
			uint64_t value = address + (uint64_t)rela.r_addend;
			if (ELF64_R_TYPE(rela.r_info) != MACHINE_RELATIVE || rela.r_offset + 8 > b->n_bytes) {
				return false;
			}
			memcpy(b->bytes + rela.r_offset, &value, sizeof value);
		}
	}
	return true;
}

bool blob_open(struct blob *b, const char *path, struct err *err) {
	*b = (struct blob){0};
	SCOPED_BY(file_reader_close) struct file_reader file;
	struct elf_image image;
	size_t got;
	uint8_t *bytes = NULL;
	if (!file_reader_open(&file, path, err)) {
		return false;
	}
	bool ok = file.size_bytes < IMAGE_MAX && (bytes = malloc(file.size_bytes + 1)) != NULL;
	ok = ok ? file_reader_read(&file, 0, bytes, file.size_bytes, &got, err) : err_memory(err);
	ok = ok && elf_image_init(&image, slice_of(bytes, got), err) && copy_segments(b, &image, err) &&
			find_names(b, &image, err) &&
			(place(b, &image, 0) || err_set(err, ERR_FORMAT, "unknown relocations"));
	if (ok) {
		b->file = bytes;
		b->image = image;
	} else {
		(void)err_add(err, "%s", path);
		free(bytes);
		blob_close(b);
	}
	return ok;
}

void blob_place(struct blob *b, uint64_t address) {
	(void)place(b, &b->image, address); // as in blob_open
}

void blob_close(struct blob *b) {
	free(b->bytes);
	free(b->file);
	*b = (struct blob){0};
}
