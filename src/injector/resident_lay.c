// SPDX-License-Identifier: MIT

// Laying the resident: one mapping with the recorder in it, and the memfd that it will share with us.

#include "injector/injector_parts.h"
#include "wire/segment.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/** Where a module's unwind tables lie, if only its sections say so, as in many static programs. */
static uint64_t hidden_tables(const struct module_code *module) {
	struct elf_segment segment;
	struct elf_section section;
	uint32_t end;
	for (uint32_t i = 0; elf_segment_at(&module->image, i, &segment); i++) {
		if (segment.type == PT_GNU_EH_FRAME) {
			return 0;
		}
	}
	if (!elf_section_find(&module->image, ".eh_frame", &section)) {
		return 0;
	}
	// A record of length 0 must end them: nothing else does
	struct slice bytes = elf_section_bytes(&module->image, &section);
	if (bytes.size < sizeof end) {
		return 0;
	}
	memcpy(&end, bytes.data + bytes.size - sizeof end, sizeof end);
	return end == 0 ? module->bias + section.address : 0;
}

static void describe_tables(struct resident *r, const struct modules_code *modules) {
	memset(r->tables, 0, sizeof r->tables);
	unsigned n = 0;
	for (size_t i = 0; i < modules->n && n < RESIDENT_TABLES; i++) {
		uint64_t at = hidden_tables(&modules->items[i]);
		if (at != 0) {
			r->tables[n++] = at;
		}
	}
}

void resident_describe(struct injector *in, uint64_t at, uint64_t clock) {
	struct resident *r = &in->resident;
	uint64_t image = at + RESIDENT_IMAGE_AT;
	if (in->is_fresh) {
		*r = (struct resident){.magic = RESIDENT_MAGIC, .version = RESIDENT_VERSION};
	}
	in->resident_at = at + RESIDENT_AT;
	r->at = at;
	r->bytes = RESIDENT_IMAGE_AT + in->blob.n_bytes;
	memcpy(r->image_id, in->blob.id, sizeof r->image_id);
	r->image_data_at = image + in->blob.data_at;
	r->image_data_bytes = in->blob.data_bytes;
	r->text_at = image + in->blob.text_at;
	r->text_bytes = in->blob.text_bytes;
	r->threads_at = image + in->blob.threads_at;
	r->n_threads = in->blob.threads_bytes / sizeof(struct resident_thread);
	r->frames_at = image + in->blob.frames_at;
	describe_tables(r, &in->modules);
	r->header_at = 0;
	r->pid = in->pid_inside;
	r->fd = -1;
	r->find_object = find_symbol(&in->modules, NULL, "_dl_find_object"); // of libc or the loader
	r->in_loader = find_symbol(&in->modules, "ld-linux", "__libc_stack_end");
	r->clock = clock;
	r->stack_end = in->space.stack_start;
}

static bool protect(struct injector *in, uint64_t at, uint64_t bytes, int protection,
		struct err *err) {
	const uint64_t arguments[6] = {at, bytes, (uint64_t)protection};
	int64_t result;
	if (!tracee_system_call(&in->tracee, SYS_mprotect, arguments, &result, err)) {
		return false;
	}
	return result == 0 ||
			err_system(err, (int)-result, "process %d cannot protect memory", (int)in->pid);
}

void injector_unmap(struct injector *in, uint64_t at, uint64_t bytes) {
	const uint64_t arguments[6] = {at, bytes};
	int64_t result;
	(void)tracee_system_call(&in->tracee, SYS_munmap, arguments, &result, NULL);
}

/** Map a new one and give its parts their protection. */
static bool map_resident(struct injector *in, uint64_t clock, struct err *err) {
	uint64_t at;
	int errnum;
	uint64_t bytes = RESIDENT_IMAGE_AT + in->blob.n_bytes;
	if (!tracee_map(&in->tracee, 0, bytes, PROT_NONE, MAP_NORESERVE, &at, &errnum, err)) {
		return false;
	}
	bool ok = protect(in, at + RESIDENT_AT, RESIDENT_BYTES + RESIDENT_STACK_BYTES,
			PROT_READ | PROT_WRITE, err);
	for (unsigned i = 0; ok && i < in->blob.n_parts; i++) {
		const struct blob_part *part = &in->blob.parts[i];
		ok = protect(in, at + RESIDENT_IMAGE_AT + part->at, part->bytes, part->protection, err);
	}
	if (!ok) {
		injector_unmap(in, at, bytes);
		return false;
	}
	resident_describe(in, at, clock);
	return true;
}

static bool write_image(struct injector *in, struct err *err) {
	uint64_t image = in->resident.at + RESIDENT_IMAGE_AT;
	blob_place(&in->blob, image);
	for (unsigned i = 0; i < in->blob.n_parts; i++) {
		const struct blob_part *part = &in->blob.parts[i];
		const uint8_t *bytes = in->blob.bytes + part->at;
		size_t n = part->bytes;
		while (n > 0 && bytes[n - 1] == 0) {
			n--; // mapped memory is zero
		}
		if (!tracee_write(&in->tracee, image + part->at, bytes, n, err)) {
			return false;
		}
	}
	return true;
}

static int take_descriptor(pid_t pid, int64_t fd, struct err *err) {
	int process = (int)syscall(SYS_pidfd_open, pid, 0);
	int ours = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)fd, 0);
	if (ours < 0) {
		(void)err_system(err, errno, "cannot take over the memory of process %d", (int)pid);
	}
	if (process >= 0) {
		(void)close(process);
	}
	return ours;
}

/** Its name must stand somewhere in the process. */
int resident_make_memory(struct injector *in, struct err *err) {
	static const char name[] = SEGMENT_MAPPING_NAME;
	uint64_t name_at = in->resident.at + RESIDENT_STACK_AT;
	const uint64_t arguments[6] = {name_at, MFD_CLOEXEC};
	int64_t fd;
	if (!tracee_write(&in->tracee, name_at, name, sizeof name, err) ||
			!tracee_system_call(&in->tracee, SYS_memfd_create, arguments, &fd, err)) {
		return -1;
	}
	if (fd < 0) {
		(void)err_system(err, (int)-fd, "process %d cannot make shared memory", (int)in->pid);
		return -1;
	}
	in->resident.fd = (int32_t)fd;
	if (!resident_write_head(in, err)) {
		return -1;
	}
	return take_descriptor(in->pid, fd, err);
}

bool resident_lay(struct injector *in, uint64_t clock, struct err *err) {
	return map_resident(in, clock, err) && write_image(in, err);
}
