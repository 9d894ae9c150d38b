// SPDX-License-Identifier: MIT
/*
 * Puts a recording into the bundle, whose marks stand for the recording's parts; copies the rest.
 */
#include "web/page.h"

#include "web/encode/columns.h"

// The build's result for web/; empty if it was told to make none
extern const char page_bundle[], page_bundle_end[];
extern const char page_engine[], page_engine_end[]; // of the viewer: the engine and its worker

// VIEWER to END: only in the viewer
#define MARKS(X) \
	X(TITLE)     \
	X(TEXT) X(PROFILE) X(REST) X(NONCE) X(BASE) X(BASE_NAME) X(CONNECT) X(VIEWER) X(END) X(ENGINE)
#define MARK_ID(name)     MARK_##name,
#define MARK_STRING(name) "@@" #name "@@",
enum mark { MARKS(MARK_ID) N_MARKS };
static const char *const marks[] = {MARKS(MARK_STRING)};

struct page {
	struct buffer *out;
	struct page_frame frame;
	struct slice profile, rest, base; // blobs; the profile in the two parts in which it is read
	bool is_viewer;
};

bool page_is_there(void) {
	return &page_bundle_end[0] > &page_bundle[0];
}

static bool need_bundle(struct err *err) {
	return page_is_there() ||
			err_unsupported(err,
					"this heaptrack was built without the web page (meson -Dweb=enabled)");
}

/** Bytes from MARK_VIEWER to MARK_END. */
static size_t viewer_size(struct slice rest) {
	const uint8_t *end = memmem(rest.data, rest.size, marks[MARK_END], strlen(marks[MARK_END]));
	return end ? (size_t)(end - rest.data) : rest.size;
}

static struct slice engine(void) {
	return slice_of(page_engine, (size_t)(page_engine_end - page_engine));
}

/** If a mark begins here, write what it stands for. Returns the bytes to skip. */
static size_t put_mark(struct page *p, struct slice rest) {
	__auto_type mark = FIND(m, marks, N_MARKS, starts_with(rest, *m));
	const size_t which = mark ? (size_t)(mark - marks) : N_MARKS;
	switch (which) {
	case MARK_TITLE: markup_put(p->out, p->frame.title); break;
	case MARK_TEXT: markup_put(p->out, p->frame.text); break;
	case MARK_PROFILE: pack_base64(p->out, p->profile); break;
	case MARK_REST: pack_base64(p->out, p->rest); break;
	case MARK_NONCE: buffer_text(p->out, p->frame.nonce); break;
	case MARK_BASE: pack_base64(p->out, p->base); break;
	case MARK_BASE_NAME: markup_put(p->out, p->frame.base_name); break;
	case MARK_CONNECT: buffer_text(p->out, p->is_viewer ? "'none'" : "'self'"); break;
	case MARK_VIEWER: return p->is_viewer ? strlen(marks[which]) : viewer_size(rest);
	case MARK_END: break;
	case MARK_ENGINE: buffer_slice(p->out, p->is_viewer ? engine() : slice_of(NULL, 0)); break;
	default: return 0;
	}
	return strlen(marks[which]);
}

static void put_page(struct page *p) {
	struct slice rest = slice_of(page_bundle, (size_t)(page_bundle_end - page_bundle));
	while (rest.size > 0) {
		const uint8_t *at = memmem(rest.data, rest.size, "@@", 2);
		size_t n = at ? (size_t)(at - rest.data) : rest.size;
		buffer_slice(p->out, slice_of(rest.data, n));
		rest = slice_from(rest, n);
		size_t skip = put_mark(p, rest);
		if (skip == 0 && rest.size > 0) {
			buffer_u8(p->out, *rest.data);
			skip = 1;
		}
		rest = slice_from(rest, skip);
	}
}

/** The page's data: of the recording, and of what it is compared with. */
struct blobs {
	struct buffer profile, base;
};

static size_t html_bytes(const struct blobs *b, const struct page_options *options) {
	return (size_t)(page_bundle_end - page_bundle) + options->text.size +
			(b->profile.size + b->base.size) / 3 * 4 + 12;
}

static void write_both(struct blobs *out, const struct recording *r, const struct names *n,
		const struct page_options *options, uint64_t least_bytes) {
	const struct page_base *base = options->base;
	struct blob_options b = options->blob;
	b.least_bytes = least_bytes;
	buffer_clear(&out->profile);
	buffer_clear(&out->base);
	blob_write(&out->profile, r, n, &b);
	if (base) {
		b.source = NULL;
		blob_write(&out->base, base->recording, base->names, &b);
	}
}

/** Blobs that fit the limit: ever larger stacks are merged until they do. */
static bool write_blobs(struct blobs *out, const struct recording *r, const struct names *n,
		const struct page_options *options, struct err *err) {
	uint64_t least_bytes = r->summary.peak_bytes / 1000000 + 1;
	write_both(out, r, n, options, 0);
	while (options->limit_bytes && html_bytes(out, options) > options->limit_bytes) {
		if (least_bytes > r->summary.peak_bytes && least_bytes > r->summary.live_bytes) {
			return err_limit(err, "the page does not fit into %llu bytes; it needs at least %zu",
					(unsigned long long)options->limit_bytes, html_bytes(out, options));
		}
		write_both(out, r, n, options, least_bytes);
		least_bytes *= 4;
	}
	return true;
}

bool page_whole(struct buffer *out, const struct recording *r, const struct names *n,
		const struct page_options *options, struct err *err) {
	struct blobs blobs = {0};
	bool ok = need_bundle(err) && write_blobs(&blobs, r, n, options, err);
	if (ok) {
		struct page_frame frame = {
				.title = path_base(r->strings.items[r->meta.exe]),
				.text = options->text,
				.base_name = path_base(slice_of_text(options->base ? options->base->path : "")),
				.nonce = "",
		};
		struct slice profile = buffer_view(&blobs.profile);
		size_t first = blob_first_size(profile);
		struct page p = {out, frame, slice_of(profile.data, first), slice_from(profile, first),
				buffer_view(&blobs.base), false};
		put_page(&p);
	}
	CALL_FOR(buffer_finish, &blobs, profile, base);
	return ok;
}

bool page_bare(struct buffer *out, const struct page_frame *frame, struct err *err) {
	if (!need_bundle(err)) {
		return false;
	}
	put_page(&(struct page){.out = out, .frame = *frame});
	return true;
}

bool page_viewer(struct buffer *out, struct err *err) {
	if (!need_bundle(err)) {
		return false;
	}
	if (!memmem(engine().data, engine().size, "id=", 3)) { // absent, or an empty line
		return err_unsupported(err,
				"this heaptrack was built without the engine for browsers (meson "
				"-Dviewer=enabled); its archive and its npm package have it");
	}
	struct page_frame frame = {
			.title = slice_of_text("Recordings"),
			.text = slice_of_text("This page opens recordings. It needs scripts and WebAssembly."),
			.nonce = "",
	};
	struct page p = {.out = out, .frame = frame, .is_viewer = true};
	put_page(&p);
	return true;
}

const char *page_licences(void) {
	return page_is_there() ? page_bundle_end + 1 : "";
}
