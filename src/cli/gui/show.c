// SPDX-License-Identifier: MIT
/* Gives the server the page and the profiles that it asks for. */
#include "cli/gui/show.h"

#include "cli/cli.h"
#include "report/report.h"
#include "server/server.h"
#include "sys/listen.h"
#include "sys/signals.h"

struct show {
	const struct gui_options *options;
	struct session session, base;
	struct buffer profile, before; // what the page reads: of both
	struct buffer text;            // the report: for those whose scripts are off
	char opened[4096];             // the file that the browser was sent to; empty: none
};

// ---- what the server asks for

static bool give_page(void *user, const char *nonce, struct buffer *out, struct err *err) {
	const struct show *show = user;
	const struct recording *r = &show->session.recording;
	struct page_frame frame = {
			.title = path_base(r->strings.items[r->meta.exe]),
			.text = buffer_view(&show->text),
			.base_name = path_base(slice_of_text(show->base.path ?: "")),
			.nonce = nonce,
	};
	return page_bare(out, &frame, err);
}

static bool give_source(void *user, uint32_t id, struct buffer *out, struct err *err) {
	struct show *show = user;
	return source_read(&show->session.recording, id, show->options->source_root, out, err);
}

static bool give_whole(void *user, struct buffer *out, struct err *err) {
	const struct show *show = user;
	struct page_base base = {&show->base.recording, show->base.names, show->base.path};
	struct page_options options = {
			.text = buffer_view(&show->text),
			.base = show->options->base ? &base : NULL,
	};
	return page_whole(out, &show->session.recording, show->session.names, &options, err);
}

static void forget_opened(void *user) {
	struct show *show = user;
	if (show->opened[0]) {
		(void)unlink(show->opened);
		show->opened[0] = 0;
	}
}

// ---- what the user reads

static void tell_forwarding(const char *there, unsigned port, const char *entrance) {
	char host[256] = "";
	(void)printf("On your own machine, run:\n  ssh -L %u:%s %s\nand open:\n"
				 "  http://127.0.0.1:%u%s\n",
			port, there, gethostname(host, sizeof host - 1) == 0 ? host : "HOST", port, entrance);
}

static void tell(struct show *show, struct server *server, unsigned port) {
	const struct gui_options *o = show->options;
	struct err err = {0};
	const char *there = FORMAT(64, "127.0.0.1:%u", port);
	const char *address = FORMAT(160, "http://%s%s", there, server_entrance(server));
	if (o->socket) {
		tell_forwarding(o->socket, 8899, server_entrance(server));
	} else if (browser_is_remote() && !browser_is_likely()) {
		tell_forwarding(there, port, server_entrance(server));
	} else {
		say(stdout, "%s is shown at\n  %s\n", VISIBLE_NAME(show->session.path), address);
		if (!o->has_no_browser && browser_is_likely() &&
				!browser_open(address, show->opened, &err)) {
			say(stdout, "(cannot open a browser: %s)\n", err.text);
		}
	}
	(void)printf(o->stays ? "Press Ctrl+C to stop.\n"
						  : "Stops when its last tab is closed; Ctrl+C stops it now.\n");
	(void)fflush(stdout);
}

// ---- serving

static bool serve(struct show *show, int signals, struct err *err) {
	const struct gui_options *o = show->options;
	uint16_t port = 0;
	int fd = o->socket ? listen_on_unix(o->socket, err) : listen_on_loopback(o->port, &port, err);
	if (fd < 0) {
		return false;
	}
	struct server_content content = {
			.user = show,
			.profile = buffer_view(&show->profile),
			.base = buffer_view(&show->before),
			.page = give_page,
			.source = o->has_no_source ? NULL : give_source,
			.whole = give_whole,
			.whole_name = "heaptrack.html",
	};
	struct server *server = server_start(fd, &content, err);
	if (server) {
		tell(show, server, port);
		(void)server_wait(server, signals, o->stays, forget_opened, show);
		server_stop(server);
		forget_opened(show);
	}
	if (o->socket) {
		(void)unlink(o->socket);
	}
	return server != NULL;
}

static bool prepare(struct show *show, struct err *err) {
	const struct session *s = &show->session, *base = &show->base;
	const char *base_file = show->options->base;
	bool is_far = show->options->socket || browser_is_remote();
	struct blob_options blob = {.packing = is_far ? BLOB_QUICKLY : BLOB_AS_IS};
	if (!session_open(&show->session, show->options->file, NULL, err)) {
		return false;
	}
	(void)say_text(stderr, buffer_view(&s->complaints));
	struct report_options report = {.file = session_title(s)};
	report_text(&show->text, &s->recording, s->names, &report);
	blob_write(&show->profile, &s->recording, s->names, &blob);
	bool ok = !base_file || session_open(&show->base, base_file, NULL, err);
	if (base_file && ok) {
		blob_write(&show->before, &base->recording, base->names, &blob);
	}
	return ok;
}

bool show(const struct gui_options *o, struct err *err) {
	FREED struct show *show = memory_new(1, sizeof *show);
	show->options = o;
	CLOSED int signals = -1;
	bool ok = prepare(show, err) && (signals = signals_open(err)) >= 0 && serve(show, signals, err);
	CALL_FOR(buffer_finish, show, profile, before, text);
	session_close(&show->base);
	session_close(&show->session);
	return ok;
}
