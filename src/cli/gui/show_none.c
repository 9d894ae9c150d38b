// SPDX-License-Identifier: MIT
#include "cli/gui/show.h"
#include "web/page.h"

// Built without the server: everything else works.

bool show(const struct gui_options *o, struct err *err) {
	if (!page_is_there()) {
		return page_bare(NULL, NULL, err);
	}
	return err_set(err, ERR_UNSUPPORTED,
			"this heaptrack was built without the web server (libmicrohttpd); write a file for any "
			"browser instead: heaptrack_print --html page.html \"%s\"",
			o->file);
}
