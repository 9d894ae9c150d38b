// SPDX-License-Identifier: MIT
/* HTTP by libmicrohttpd: answers requests, and keeps connections open. */
#include "server/http.h"

#include "base/parallel.h"

#include <errno.h>

enum {
	CONNECTIONS = 256,
	HEAD_BYTES = 16 << 10,
	SECONDS_WITHOUT_PROGRESS = 20,
	STREAM_BLOCK = 64,
};

/** An open connection: it sleeps in the library until a sign of life is due. */
struct stream {
	struct http *http;
	struct MHD_Connection *connection;
	struct stream *next;
	bool is_asleep, is_due;
};

struct http {
	struct MHD_Daemon *daemon;
	http_handler *handler;
	void *user;
	pthread_mutex_t lock; // of the streams: the server's thread and http_streams' caller
	struct stream *streams;
	bool is_ending;
};

static struct library mhd; // set when the first server starts

// ---- streams

static ssize_t give_life(void *user, uint64_t position, char *out, size_t size) {
	static const char comment[] = ":\n\n"; // of an event stream
	struct stream *s = user;
	(void)position;
	(void)size;
	LOCKED(&s->http->lock);
	if (s->http->is_ending) {
		return MHD_CONTENT_READER_END_OF_STREAM;
	}
	if (s->is_due) {
		memcpy(out, comment, sizeof comment - 1);
		s->is_due = false;
		return sizeof comment - 1;
	}
	mhd.suspend_connection(s->connection);
	s->is_asleep = true;
	return 0;
}

static void end_stream(void *user) {
	FREED struct stream *s = user;
	LOCKED(&s->http->lock);
	struct stream **at = &s->http->streams;
	while (*at != s) {
		at = &(*at)->next;
	}
	*at = s->next;
}

static struct MHD_Response *new_stream(struct http *h, struct MHD_Connection *connection) {
	struct stream *s = memory_new(1, sizeof *s);
	*s = (struct stream){.http = h, .connection = connection, .is_due = true};
	struct MHD_Response *r = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK,
			give_life, s, end_stream);
	LOCKED(&h->lock);
	s->next = h->streams;
	h->streams = s;
	return r;
}

/** `lock` is held. */
static unsigned wake_streams(struct http *h) {
	unsigned n = 0;
	for (struct stream *s = h->streams; s; s = s->next, n++) {
		s->is_due = true;
		if (s->is_asleep) {
			s->is_asleep = false;
			mhd.resume_connection(s->connection);
		}
	}
	return n;
}

unsigned http_streams(struct http *h) {
	LOCKED(&h->lock);
	return wake_streams(h);
}

// ---- requests

static struct slice value_of(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *key) {
	const char *value = mhd.lookup_connection_value(c, kind, key);
	return value ? slice_of_text(value) : (struct slice){0};
}

static bool add_headers(struct MHD_Response *r, const struct http_answer *a) {
	const char *policy = a->policy[0] ? a->policy : "default-src 'none'; frame-ancestors 'none'";
	const char *disposition = FORMAT(300, "attachment; filename=\"%s\"",
			a->save_as ? a->save_as : "");
	const char *const headers[][2] = {
			{"Content-Type", a->type ? a->type : "text/plain; charset=utf-8"},
			{"Content-Security-Policy", policy},
			{"X-Content-Type-Options", "nosniff"},
			{"Referrer-Policy", "no-referrer"},
			{"Cross-Origin-Resource-Policy", "same-origin"},
			{"Cross-Origin-Opener-Policy", "same-origin"},
			{"Cache-Control", "no-store"},
			{"Set-Cookie", a->cookie[0] ? a->cookie : NULL},
			{"Content-Disposition", a->save_as ? disposition : NULL},
			{"Allow", a->status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET" : NULL},
	};
	return ALL(i, N_OF(headers),
			!headers[i][1] || mhd.add_response_header(r, headers[i][0], headers[i][1]) != MHD_NO);
}

static struct MHD_Response *new_response(struct http *h, struct MHD_Connection *connection,
		const struct http_answer *a) {
	void *bytes = (void *)a->bytes.data;
	switch (a->body) {
	case HTTP_STREAM: return new_stream(h, connection);
	case HTTP_OWNED:
		return mhd.create_response_from_buffer_with_free_callback(a->bytes.size, bytes, free);
	default: return mhd.create_response_from_buffer(a->bytes.size, bytes, MHD_RESPMEM_PERSISTENT);
	}
}

static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *url,
		const char *method, const char *version, const char *upload, size_t *upload_size,
		void **context) {
	struct http *h = user;
	(void)version;
	(void)upload;
	(void)upload_size;
	(void)context;
	struct http_request q = {
			.method = slice_of_text(method),
			.path = slice_of_text(url),
			.host = value_of(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST),
			.origin = value_of(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN),
			.cookies = value_of(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_COOKIE),
			.token = value_of(connection, MHD_GET_ARGUMENT_KIND, "token"),
	};
	struct http_answer a = {.status = MHD_HTTP_NOT_FOUND};
	h->handler(h->user, &q, &a);
	struct MHD_Response *r = new_response(h, connection, &a) ?: memory_lacks();
	// Queued at the first call, before any body, so that the library reads none
	enum MHD_Result result = add_headers(r, &a) ? mhd.queue_response(connection, a.status, r)
												: MHD_NO;
	mhd.destroy_response(r);
	return result;
}

/** Our addresses need no escapes: one that has some is another. */
static size_t keep_escapes(void *user, struct MHD_Connection *connection, char *text) {
	(void)user;
	(void)connection;
	return strlen(text);
}

// ---- life

struct http *http_start(int fd, http_handler *handler, void *user, struct err *err) {
	if (!library_load(&mhd, err)) {
		(void)close(fd);
		return NULL;
	}
	struct http *h = memory_new(1, sizeof *h);
	*h = (struct http){.handler = handler, .user = user};
	pthread_mutex_init(&h->lock, NULL);
	h->daemon = mhd.start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
			NULL, answer, h, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
			(unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_BYTES,
			MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SECONDS_WITHOUT_PROGRESS,
			MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
			MHD_OPTION_END);
	if (!h->daemon) {
		(void)err_system(err, errno, "cannot start the web server");
		(void)close(fd);
		pthread_mutex_destroy(&h->lock);
		free(h);
		return NULL;
	}
	return h;
}

void http_stop(struct http *h) {
	if (!h) {
		return;
	}
	pthread_mutex_lock(&h->lock);
	h->is_ending = true;
	(void)wake_streams(h); // none may be asleep when the library ends
	pthread_mutex_unlock(&h->lock);
	mhd.stop_daemon(h->daemon);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
