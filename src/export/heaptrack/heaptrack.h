// SPDX-License-Identifier: MIT
#pragma once

/** Files of KDE's heaptrack, format 3. docs/kde.md says how they are made and what agrees. */

#include "export/export.h"

/** Interpreted: names are in it. */
bool export_heaptrack(const struct export_request *request, const struct export_sink *sink,
		struct err *err);

/** Raw: modules and addresses; heaptrack_interpret puts the names in. */
bool export_heaptrack_raw(const struct export_request *request, const struct export_sink *sink,
		struct err *err);
