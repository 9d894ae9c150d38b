// SPDX-License-Identifier: MIT
/* Does ld.so's work for libheaptrack_inject.so, without a process to do it in. */
#include "injector/resident/blob.h"

#include "machine.h"

enum { PAGE = 4096, IMAGE_MAX = 64 << 20 };

static bool add_part(struct blob *b, const struct elf_segment *segment) {
	if (b->n_parts == N_OF(b->parts)) {
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

static bool copy_segments(struct blob *b) {
	struct elf_segment segment;
	uint32_t i = 0;
	bool ok = EVERY(elf_segment_next(&b->image, PT_LOAD, &i, &segment), add_part(b, &segment));
	b->bytes = ok ? calloc(1, b->n_bytes) : NULL;
	for (i = 0; b->bytes && elf_segment_next(&b->image, PT_LOAD, &i, &segment);) {
		struct slice bytes = elf_segment_bytes(&b->image, &segment);
		if (bytes.size != segment.file_bytes || segment.address + bytes.size > b->n_bytes) {
			return false;
		}
		memcpy(b->bytes + segment.address, bytes.data, bytes.size);
	}
	return b->bytes != NULL;
}

static bool find_names(struct blob *b) {
	struct elf_symbol symbol;
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
	EACH_OF(n, names, N_OF(names)) {
		struct elf_symbols symbols = elf_symbols_of(&b->image, SHT_DYNSYM);
		if (!elf_symbols_find(&symbols, n->name, &symbol)) {
			return false;
		}
		*n->at = symbol.address;
	}
	b->frames_at = elf_section_named(&b->image, ".eh_frame").address;
	struct slice id = elf_build_id(&b->image);
	memcpy(b->id, id.data, id.size < sizeof b->id ? id.size : sizeof b->id);
	return b->frames_at && b->text_bytes && b->data_bytes && id.size > 0;
}

bool blob_place(struct blob *b, uint64_t address) {
	struct elf_section section;
	for (uint32_t i = 0; elf_section_at(&b->image, i, &section); i++) {
		struct slice bytes = section.bytes;
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
	if (!file_read_whole(path, &b->file, IMAGE_MAX, err)) {
		blob_close(b);
		return false;
	}
	bool ok = elf_image_init(&b->image, buffer_view(&b->file)) && copy_segments(b) &&
			find_names(b) && blob_place(b, 0);
	if (!ok) {
		blob_close(b);
	}
	return ok || err_format(err, "%s: not the recorder of this heaptrack", path);
}

void blob_close(struct blob *b) {
	free(b->bytes);
	buffer_finish(&b->file);
	*b = (struct blob){0};
}
