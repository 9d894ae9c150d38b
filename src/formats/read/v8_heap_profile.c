// SPDX-License-Identifier: MIT
/*
 * Reads V8's sampling heap profile: a tree of call frames, each with its own live bytes at the end,
 * scaled up by V8. Lines and columns start at 0; -1 is none.
 *
 *   {"head":{"callFrame":{...},"selfSize":0,"id":1,"children":[...]},"samples":[...]}
 */
#include "formats/formats.h"

struct reading {
	struct profile_maker *m;
	struct json_reader j;
	unsigned depth;
	bool is_wrong; // children precede their frame, or too deep
	bool has_head;
};

// Two brackets per level: json_reader's limit, less what surrounds the tree
enum { DEEPEST = JSON_READ_DEPTH / 2 - 8 };

static uint32_t take_frame(struct reading *r) {
	struct json_reader *j = &r->j;
	struct profile_frame f = {0};
	JSON_EACH(j, '{') {
		if (json_key_is(j, "functionName")) {
			f.function = profile_maker_string(r->m, json_take_text(j));
		} else if (json_key_is(j, "url")) {
			struct slice url = json_take_text(j);
			(void)take_prefix(&url, "file://");
			f.file = profile_maker_string(r->m, url);
		} else if (json_key_is(j, "lineNumber")) {
			int64_t line = json_take_signed(j);
			f.line = line >= 0 && line < UINT32_MAX ? (uint32_t)line + 1 : 0;
		} else {
			json_skip(j);
		}
	}
	f.function = f.function ?: profile_maker_string(r->m, slice_of_text("(anonymous)"));
	return profile_maker_frame(r->m, &f);
}

/** The root, "(root)", is not a frame. */
static void take_node(struct reading *r, uint32_t parent, bool is_root) {
	struct json_reader *j = &r->j;
	uint32_t node = 0;
	bool has_frame = false;
	r->is_wrong |= ++r->depth > DEEPEST;
	for (json_enter(j, '{'); json_next(j) && !r->m->failed && !r->is_wrong;) {
		if (json_key_is(j, "callFrame")) {
			uint32_t frame = take_frame(r);
			node = is_root ? 0 : profile_maker_node(r->m, parent, frame);
			has_frame = true;
		} else if (json_key_is(j, "selfSize") && has_frame) {
			uint64_t bytes = json_take_number(j);
			struct profile_sample *s = bytes
					? profile_maker_sample(r->m, &(struct profile_sample){.node = node})
					: NULL;
			if (s) {
				s->values[PROFILE_LIVE_BYTES] += bytes;
			}
		} else if (json_key_is(j, "children") || json_key_is(j, "selfSize")) {
			r->is_wrong |= !has_frame;
			for (json_enter(&r->j, '['); json_next(&r->j) && !r->m->failed && !r->is_wrong;) {
				take_node(r, node, false);
			}
		} else {
			json_skip(j);
		}
	}
	r->depth--;
}

bool v8_heap_profile_knows(struct slice head) {
	return starts_with(skip_spaces(head), "{") && memmem(head.data, head.size, "\"head\"", 6) &&
			memmem(head.data, head.size, "\"callFrame\"", 11);
}

bool v8_heap_profile_decode(struct profile_maker *m, struct slice in, struct err *err) {
	struct reading r = {.m = m};
	json_reader_init(&r.j, in);
	m->head.known = 1u << PROFILE_LIVE_BYTES;
	for (json_enter(&r.j, '{'); json_next(&r.j) && !m->failed && !r.is_wrong;) {
		if (json_key_is(&r.j, "head") && !r.has_head) {
			r.has_head = true;
			take_node(&r, 0, true);
		} else {
			json_skip(&r.j);
		}
	}
	bool is_whole = !r.j.failed && !r.is_wrong && r.has_head;
	json_reader_finish(&r.j);
	return is_whole ||
			err_format(err,
					r.is_wrong ? "its tree is not in V8's format"
							   : "the JSON is damaged or cut short");
}
