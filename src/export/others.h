// SPDX-License-Identifier: MIT
#pragma once

/** Formats of other tools. docs/exports.md says what each keeps. */

#include "export/export.h"
#include "formats/profile.h"

bool export_pprof(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
bool export_folded(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
bool export_speedscope(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
bool export_firefox(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
bool export_massif(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
bool export_dhat(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
bool export_callgrind(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
bool export_csv(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
bool export_json(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
bool export_histogram(const struct export_request *request, const struct export_sink *sink,
		struct err *err);

/** Folded by a value of the caller's choice, whatever the lens ranks by: the classic -F. */
bool export_folded_by(const struct export_request *request, enum profile_value value,
		const struct export_sink *sink, struct err *err);
