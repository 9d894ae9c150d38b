// SPDX-License-Identifier: MIT
/*
 * Writes collapsed stacks for Brendan Gregg's FlameGraph: frames from the root to the leaf, joined
 * by ';', a space, a number. ';' in a name cannot be escaped, so it becomes ':'. A comparison has
 * two numbers, base first, as from difffolded.pl.
 */
#include "formats/write/text.h"

static void put_line(struct buffer *out, const struct profile *p, const struct profile_tree *tree,
		const struct path *path) {
	for (uint32_t i = 0; i < path->n; i++) {
		if (i > 0) {
			buffer_u8(out, ';');
		}
		struct slice name = profile_text(p, tree->nodes[path->items[i]].frame);
		put_plain(out, name.size ? name : slice_of_text("???"), ";");
	}
}

bool folded_encode(struct buffer *out, const struct profile *p, const struct write_options *options,
		struct err *err) {
	enum profile_value value = options->shown;
	if (!profile_knows(p, value)) {
		return err_unsupported(err, "the input does not contain %s", profile_value_name(value));
	}
	SCOPED(arena) scratch = {0};
	SCOPED_BY(vec_release) struct path path = {0};
	struct profile_tree tree;
	profile_gather(p, NULL, &scratch, &tree);
	uint64_t(*sums)[2] = arena_alloc(&scratch, tree.n, sizeof *sums); // ours, base
	EACH(s, p->samples) {
		sums[tree.of_node[s->node]][s->is_base] += s->values[value];
	}
	EACH_NUMBER(i, tree.n, sums[i][0] || sums[i][1]) {
		path_of(&path, tree.nodes, i);
		if (path.n == 0) {
			buffer_text(out, "(no stack)");
		}
		put_line(out, p, &tree, &path);
		if (p->is_diff) {
			buffer_printf(out, " %" PRIu64, sums[i][1]);
		}
		buffer_printf(out, " %" PRIu64 "\n", sums[i][0]);
	}
	return true;
}
