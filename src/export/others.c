// SPDX-License-Identifier: MIT
#include "export/others.h"

#include "export/profile.h"
#include "formats/formats.h"

/*
 * Every one of these makes a profile of what was asked for, lets a format write it into memory, and
 * hands that out: the largest are some hundred bytes per stack.
 */

typedef bool encode_fn(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err);

static bool write_out(struct slice bytes, bool is_packed, const struct export_sink *sink,
		struct err *err) {
	if (!is_packed) {
		return sink->write(sink->user, bytes, err);
	}
	struct buffer packed = {0};
	bool ok = gzip_encode(&packed, bytes, err) &&
			sink->write(sink->user, buffer_view(&packed), err);
	buffer_finish(&packed);
	return ok;
}

static bool export_as(const struct export_request *request, encode_fn *encode, bool is_packed,
		const struct export_sink *sink, struct err *err) {
	struct arena arena = {0};
	struct buffer out = {0};
	struct profile p;
	bool ok = profile_of_request(&p, request, &arena, err) && encode(&out, &p, request, err) &&
			write_out(buffer_view(&out), is_packed, sink, err);
	buffer_finish(&out);
	arena_finish(&arena);
	return ok;
}

static bool as_pprof(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err) {
	return pprof_encode(out, p, profile_value_shown(request->lens, p), err);
}

static bool folded_of(struct buffer *out, const struct profile *p, enum profile_value value,
		struct err *err) {
	return profile_knows(p, value) ? folded_encode(out, p, value, err)
								   : err_set(err, ERR_UNSUPPORTED, "the input does not contain %s",
											 profile_value_name(value));
}

static bool as_folded(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err) {
	return folded_of(out, p, profile_value_shown(request->lens, p), err);
}

static bool as_speedscope(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err) {
	return speedscope_encode(out, p, profile_value_shown(request->lens, p), err);
}

static bool as_firefox(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err) {
	(void)request;
	return firefox_encode(out, p, err);
}

static bool as_massif(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err) {
	struct massif_options options = {request->massif_threshold, request->massif_detailed_every};
	return massif_encode(out, p, &options, err);
}

static bool as_dhat(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err) {
	(void)request;
	return dhat_encode(out, p, err);
}

static bool as_callgrind(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err) {
	return callgrind_encode(out, p, profile_value_shown(request->lens, p), err);
}

static bool as_csv(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err) {
	(void)request;
	return csv_encode(out, p, err);
}

static bool as_json(struct buffer *out, const struct profile *p,
		const struct export_request *request, struct err *err) {
	(void)request;
	return json_profile_encode(out, p, err);
}

bool export_pprof(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return export_as(request, as_pprof, true, sink, err);
}

bool export_folded(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return export_as(request, as_folded, false, sink, err);
}

bool export_speedscope(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return export_as(request, as_speedscope, false, sink, err);
}

bool export_firefox(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return export_as(request, as_firefox, true, sink, err);
}

bool export_massif(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return export_as(request, as_massif, false, sink, err);
}

bool export_dhat(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return export_as(request, as_dhat, false, sink, err);
}

bool export_callgrind(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return export_as(request, as_callgrind, false, sink, err);
}

bool export_csv(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return export_as(request, as_csv, false, sink, err);
}

bool export_json(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	return export_as(request, as_json, false, sink, err);
}

bool export_folded_by(const struct export_request *request, enum profile_value value,
		const struct export_sink *sink, struct err *err) {
	struct arena arena = {0};
	struct buffer out = {0};
	struct profile p;
	bool ok = profile_of_request(&p, request, &arena, err) && folded_of(&out, &p, value, err) &&
			sink->write(sink->user, buffer_view(&out), err);
	buffer_finish(&out);
	arena_finish(&arena);
	return ok;
}
