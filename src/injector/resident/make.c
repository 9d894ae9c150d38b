// SPDX-License-Identifier: MIT
/* Makes a resident, a mapping with the recorder in it, and the memfd to share. */
#include "injector/resident/resident.h"

/** A module's unwind tables, if only its sections tell where, as in many static programs. */
static uint64_t hidden_tables(const struct module_code *module) {
	struct elf_section frames = elf_section_named(&module->image, ".eh_frame");
	uint32_t end;
	if (elf_segment_of(&module->image, PT_GNU_EH_FRAME).type == PT_GNU_EH_FRAME ||
			frames.bytes.size < sizeof end) {
		return 0;
	}
	// A record of length 0 must end them: nothing else does
	memcpy(&end, frames.bytes.data + frames.bytes.size - sizeof end, sizeof end);
	return end == 0 ? module->bias + frames.address : 0;
}

static void describe_tables(struct resident *r, const struct modules_code *modules) {
	memset(r->tables, 0, sizeof r->tables);
	unsigned n = 0;
	if (r->made_tables.bytes != 0) {
		r->tables[n++] = r->made_tables.at;
	}
	for (size_t i = 0; i < modules->n && n < RESIDENT_TABLES; i++) {
		uint64_t at = hidden_tables(&modules->items[i]);
		if (at != 0) {
			r->tables[n++] = at;
		}
	}
}

/** Mappings with unwind tables, as many as fit, for a recorder without `find_object`. */
static void describe_maps(struct resident *r, const struct process_space *space) {
	size_t n = 0;
	EACH_WHILE(m, space->mappings, r->find_object == 0) {
		bool has_code = m->name[0] == '/' || strcmp(m->name, "[vdso]") == 0;
		size_t room = sizeof r->maps - n;
		if (m->offset != 0 || !m->is_readable || !has_code) {
			continue;
		}
		int bytes = snprintf(r->maps + n, room, "%" PRIx64 "-%" PRIx64 " r--p 0 0:0 0 %s\n",
				m->start, m->end, m->name);
		if (bytes < 0 || (size_t)bytes >= room) {
			break;
		}
		n += (size_t)bytes;
	}
	r->maps[n] = 0;
}

/** Put what the recorder must know into our copy of the resident at `at`. */
static void describe(struct injector *in, uint64_t at, uint64_t clock) {
	struct resident *r = &in->resident;
	uint64_t image = at + RESIDENT_IMAGE_AT;
	if (in->is_fresh) {
		*r = (struct resident){.magic = RESIDENT_MAGIC,
				.version = RESIDENT_VERSION,
				.made_tables = {image + in->blob.n_bytes, in->frames.size}};
	}
	in->resident_at = at + RESIDENT_AT;
	r->at = at;
	r->bytes = RESIDENT_IMAGE_AT + in->blob.n_bytes + in->frames.size;
	memcpy(r->image_id, in->blob.id, sizeof r->image_id);
	r->image_data_at = image + in->blob.data_at;
	r->image_data_bytes = in->blob.data_bytes;
	r->text_at = image + in->blob.text_at;
	r->text_bytes = in->blob.text_bytes;
	r->threads_at = image + in->blob.threads_at;
	r->n_threads = 1u << RESIDENT_THREADS_LOG2;
	r->has_tids_at = image + in->blob.has_tids_at;
	r->pointer_at = image + in->blob.resident_at;
	r->frames_at = image + in->blob.frames_at;
	describe_tables(r, &in->modules);
	memcpy(r->token, in->token, sizeof r->token);
	r->guardian = getpid();
	r->guardian_ticks = process_start_ticks(getpid());
	r->header_at = 0;
	r->pid = in->pid_inside;
	r->fd = -1;
	r->find_object = find_symbol(&in->modules, NULL, "_dl_find_object"); // of libc or the loader
	describe_maps(r, &in->space);
	r->in_loader = find_symbol(&in->modules, "ld-linux", "__libc_stack_end");
	r->clock = clock;
	r->stack_end = in->space.stack_start;
	thread_cache_find(&in->modules, r->thread_caches);
	r->errand_code = image + in->blob.errand_at;
	resident_use_for_errands(in);
}

static int take_descriptor(pid_t pid, int64_t fd, struct err *err) {
	CLOSED int process = (int)syscall(SYS_pidfd_open, pid, 0);
	int ours = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)fd, 0);
	if (ours < 0) {
		(void)err_system(err, errno, "cannot take over the memory of process %d", (int)pid);
	}
	return ours;
}

/** Give each part its protection; all was mapped as code. */
static void protect_parts(const struct injector *in, struct errand *e) {
	uint64_t at = in->resident.at;
	(void)errand_add(e, SYS_mprotect, at, RESIDENT_GUARD_BYTES, PROT_NONE);
	EACH_OF_THAT(part, in->blob.parts, in->blob.n_parts, part->at != in->blob.text_at) {
		(void)errand_add(e, SYS_mprotect, at + RESIDENT_IMAGE_AT + part->at, part->bytes,
				(uint64_t)part->protection);
	}
}

/** Map a new one and fill it, which heaptrack can do before its parts have their protection. */
static bool map_resident(struct injector *in, uint64_t clock, struct err *err) {
	uint64_t at;
	if (!tracee_map(&in->tracee, RESIDENT_IMAGE_AT + in->blob.n_bytes + in->frames.size, &at,
				err)) {
		return false;
	}
	describe(in, at, clock);
	// Whoever finds the resident must see that its first errand, still to come, is not over
	const uint32_t begun = ERRAND_BEGUN;
	return resident_write_image(in, PROT_NONE, err) &&
			tracee_write(&in->tracee, at + RESIDENT_IMAGE_AT + in->blob.n_bytes, in->frames.data,
					in->frames.size, err) &&
			tracee_write(&in->tracee, at + RESIDENT_ERRAND_AT + offsetof(struct errand, state),
					&begun, sizeof begun, err) &&
			resident_write_head(in, err);
}

/** Send the stopped thread to open the file. The last call's result is its descriptor. */
static bool make(struct injector *in, struct errand *e, const char *path, int64_t *fd,
		struct err *err) {
	const char *name = path ? path : SEGMENT_MAPPING_NAME;
	uint64_t at = in->resident.at;
	// Makes the part writable that the errand itself writes to
	const struct errand_call first = {.number = SYS_mprotect,
			.arguments = {at + RESIDENT_AT, RESIDENT_IMAGE_AT - RESIDENT_AT,
					PROT_READ | PROT_WRITE}};
	if (in->is_fresh) {
		protect_parts(in, e);
	}
	if (in->token[0]) {
		(void)errand_add(e, SYS_getpid, 0, 0, 0); // the recorder asks for memory
	} else if (path) {
		(void)errand_add(e, SYS_openat, (uint64_t)AT_FDCWD, at + RESIDENT_STACK_AT,
				O_RDWR | O_CLOEXEC);
	} else {
		(void)errand_add(e, SYS_memfd_create, at + RESIDENT_STACK_AT,
				MFD_CLOEXEC | MFD_ALLOW_SEALING, 0);
	}
	if (!tracee_write(&in->tracee, at + RESIDENT_STACK_AT, name, strlen(name) + 1, err) ||
			!tracee_errand(&in->tracee, in->is_fresh ? &first : NULL, e, err)) {
		return false;
	}
	for (uint32_t i = 0; i < e->n_calls; i++) {
		*fd = e->calls[i].result;
		if (*fd < 0) {
			return err_system(err, (int)-*fd, "cannot create memory in process %d", (int)in->pid);
		}
	}
	return true;
}

bool resident_make_memory(struct injector *in, uint64_t clock, const char *path, int *ours,
		struct err *err) {
	struct errand e = {0};
	int64_t fd = -1;
	in->is_fresh = in->resident_at == 0;
	buffer_clear(&in->frames);
	if (in->is_fresh) {
		frames_make(&in->frames, &in->modules, &in->functions);
	} else {
		describe(in, in->resident.at, clock);
	}
	if (!injector_stop(in, false, err)) {
		return false;
	}
	bool ok = (!in->is_fresh || map_resident(in, clock, err)) && make(in, &e, path, &fd, err);
	in->resident.fd = in->token[0] ? -1 : (int32_t)fd;
	ok = ok && resident_write_head(in, err);
	injector_resume(in);
	*ours = ok && !in->token[0] ? take_descriptor(in->pid, fd, err) : -1;
	return ok && (in->token[0] || *ours >= 0);
}
