// SPDX-License-Identifier: MIT
#include "web/page.h"

#include "web/bundle.h"
#include "web/pack.h"

// The bundle is the whole document with marks where something of the recording belongs. What
// stands between two marks is copied.

static const char mark_title[] = "@@TITLE@@", mark_text[] = "@@TEXT@@",
				  mark_profile[] = "@@PROFILE@@", mark_nonce[] = "@@NONCE@@";

struct page {
	struct buffer *out;
	struct slice title, text, blob;
	const char *nonce;
};

bool page_is_there(void) {
	return &page_bundle_end[0] > &page_bundle[0];
}

static bool need_bundle(struct err *err) {
	return page_is_there() ||
			err_set(err, ERR_UNSUPPORTED,
					"built without the web interface (meson -Dweb=enabled needs node and npm)");
}

static void put_escaped(struct buffer *out, struct slice text) {
	for (size_t i = 0; i < text.size; i++) {
		switch (text.data[i]) {
		case '&': buffer_text(out, "&amp;"); break;
		case '<': buffer_text(out, "&lt;"); break;
		case '>': buffer_text(out, "&gt;"); break;
		default: buffer_u8(out, text.data[i]);
		}
	}
}

/** If a mark begins here, what stands for it is written; the number of bytes to step over. */
static size_t put_mark(struct page *p, struct slice rest) {
	static const char *const marks[] = {mark_title, mark_text, mark_profile, mark_nonce};
	size_t which = 0;
	while (which < 4 &&
			(rest.size < strlen(marks[which]) ||
					memcmp(rest.data, marks[which], strlen(marks[which])) != 0)) {
		which++;
	}
	switch (which) {
	case 0: put_escaped(p->out, p->title); break;
	case 1: put_escaped(p->out, p->text); break;
	case 2: pack_base64(p->out, p->blob); break;
	case 3: buffer_text(p->out, p->nonce); break;
	default: return 0;
	}
	return strlen(marks[which]);
}

static bool put_page(struct page *p, struct err *err) {
	struct slice rest = slice_of(page_bundle, (size_t)(page_bundle_end - page_bundle));
	while (rest.size > 0) {
		const uint8_t *at = memmem(rest.data, rest.size, "@@", 2);
		size_t n = at ? (size_t)(at - rest.data) : rest.size;
		buffer_slice(p->out, slice_of(rest.data, n));
		rest = slice_of(rest.data + n, rest.size - n);
		size_t skip = put_mark(p, rest);
		if (skip == 0 && rest.size > 0) {
			buffer_u8(p->out, *rest.data);
			skip = 1;
		}
		rest = slice_of(rest.data + skip, rest.size - skip);
	}
	return !p->out->failed || err_memory(err);
}

static size_t html_bytes(const struct buffer *blob, const struct page_options *options) {
	return (size_t)(page_bundle_end - page_bundle) + options->text.size + blob->size / 3 * 4 + 4;
}

/** A blob that fits. What is small goes first, ever more of it, until it does. */
static bool write_blob(struct buffer *blob, const struct recording *r, const struct names *n,
		const struct page_options *options, struct err *err) {
	struct blob_options b = {options->is_redacted, 0, options->source, options->user};
	if (!blob_write(blob, r, n, &b, err)) {
		return false;
	}
	b.least_bytes = r->summary.peak_bytes / 1000000 + 1;
	while (options->limit_bytes && html_bytes(blob, options) > options->limit_bytes) {
		if (b.least_bytes > r->summary.peak_bytes && b.least_bytes > r->summary.live_bytes) {
			return err_set(err, ERR_LIMIT, "the page does not fit into %llu bytes: %zu are needed",
					(unsigned long long)options->limit_bytes, html_bytes(blob, options));
		}
		buffer_clear(blob);
		if (!blob_write(blob, r, n, &b, err)) {
			return false;
		}
		b.least_bytes *= 4;
	}
	return true;
}

bool page_whole(struct buffer *out, const struct recording *r, const struct names *n,
		const struct page_options *options, struct err *err) {
	struct buffer blob = {0};
	bool ok = need_bundle(err) && write_blob(&blob, r, n, options, err);
	if (ok) {
		struct slice title = path_base(r->strings.items[r->meta.exe]);
		struct page p = {out, title, options->text, buffer_view(&blob), ""};
		ok = put_page(&p, err);
	}
	buffer_finish(&blob);
	return ok;
}

bool page_bare(struct buffer *out, const char *nonce, struct slice title, struct slice text,
		struct err *err) {
	struct page p = {out, title, text, {0}, nonce};
	return need_bundle(err) && put_page(&p, err);
}

const char *page_licences(void) {
	return page_is_there() ? page_bundle_end + 1 : "";
}
