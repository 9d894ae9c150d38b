// SPDX-License-Identifier: MIT
/* Refuses to serve a page, in a build without the server. */
#include "cli/gui/show.h"
#include "web/page.h"

bool show(const struct gui_options *o, struct err *err) {
	if (!page_is_there()) {
		return page_bare(NULL, NULL, err);
	}
	return err_unsupported(err,
			"this heaptrack was built without the web server (libmicrohttpd); write a file for any "
			"browser instead: heaptrack_print --html page.html \"%s\"",
			o->file);
}
