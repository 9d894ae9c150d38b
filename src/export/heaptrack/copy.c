// SPDX-License-Identifier: MIT
/*
 * Copies the events of another file of KDE's heaptrack, which is read a second time. The
 * recording made of it in the first pass has the names, this pass has the order.
 */
#include "base/index.h"
#include "export/heaptrack/records.h"
#include "formats/heaptrack.h"
#include "sys/unpack.h"

struct copy {
	struct kde_out *o;
	struct heaptrack_reader reader;
	bool from_raw;
	VEC(struct kde_out_info) infos; // of the file, interpreted
	struct map live;                // of raw ones: address -> info, or 1
};

static uint32_t known_node(const struct copy *c, uint64_t node) {
	return node < c->o->r->nodes.n ? (uint32_t)node : 0;
}

static void put_alloc(struct copy *c, uint64_t size, uint32_t node, uint64_t ptr) {
	uint64_t value = kde_out_alloc(c->o, size, node, ptr, false);
	if (c->from_raw && value && !map_put(&c->live, ptr, value)) {
		kde_out_fail_memory(c->o);
	}
}

/** Other blocks were there before. */
static void on_raw_free(struct copy *c, uint64_t ptr) {
	kde_out_free(c->o, ptr, map_take(&c->live, ptr));
}

static void on_info(struct copy *c, const struct heaptrack_record *r) {
	struct kde_out_info info = {.size = r->numbers[0], .node = known_node(c, r->numbers[1])};
	if (!vec_add(&c->infos, info)) {
		kde_out_fail_memory(c->o);
	}
}

static bool take(void *user, const struct heaptrack_record *r, struct err *err) {
	struct copy *c = user;
	struct kde_out *o = c->o;
	(void)err;
	if (r->is_bad) {
		return true;
	}
	const struct kde_out_info *info = r->n && r->numbers[0] < c->infos.n
			? &c->infos.items[r->numbers[0]]
			: NULL;
	switch (r->kind) {
	case 'm':
	case 'x': c->from_raw = true; break;
	case 'a': on_info(c, r); break;
	case '+':
		if (r->n == 3) {
			on_raw_free(c, r->numbers[2]); // its free was missed
			put_alloc(c, r->numbers[0], known_node(c, r->numbers[1]), r->numbers[2]);
		} else if (info) {
			put_alloc(c, info->size, info->node, 0);
		}
		break;
	case '-':
		if (c->from_raw || c->reader.format == 0) {
			on_raw_free(c, r->numbers[0]);
		} else if (info) {
			kde_out_block(o, '-', kde_out_info(o, info->node, info->size, false));
		}
		break;
	case 'c':
	case 'R': kde_out_numbers(o, r->kind, r->numbers, 1); break;
	default: break;
	}
	return !o->failed;
}

void kde_out_copy(struct kde_out *o) {
	struct copy c = {.o = o};
	struct err err = {0};
	struct unpack *in = unpack_open(o->request->session->path, 0, &err);
	bool ok = in != NULL;
	for (struct slice bytes = {0}; ok;) {
		ok = unpack_next(in, &bytes, &err) && heaptrack_read(&c.reader, bytes, take, &c, &err);
		if (bytes.size == 0) {
			break;
		}
	}
	if (!ok) {
		kde_out_fail(o, &err);
	}
	unpack_close(in);
	heaptrack_reader_finish(&c.reader);
	map_finish(&c.live);
	vec_finish(&c.infos);
}
