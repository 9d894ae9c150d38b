// SPDX-License-Identifier: MIT
/* Stands for the page in a build without it (meson -Dweb=disabled). */
#include "web/page.h"

ATTR_STAND_INS

static bool say_left_out(struct err *err) {
	return err_set(err, ERR_UNSUPPORTED,
			"this heaptrack was built without the web page (meson -Dweb=disabled)");
}

bool page_is_there(void) {
	return false;
}

bool page_whole(struct buffer *out, const struct recording *r, const struct names *n,
		const struct page_options *options, struct err *err) {
	return say_left_out(err);
}

bool page_bare(struct buffer *out, const struct page_frame *frame, struct err *err) {
	return say_left_out(err);
}

bool page_viewer(struct buffer *out, struct err *err) {
	return say_left_out(err);
}

const char *page_licences(void) {
	return "";
}
