// SPDX-License-Identifier: MIT
#pragma once

/** Findings for programs. */

#include "base/json.h"
#include "engine/findings.h"

/** "findings": [...] into an object that is open: for --json and for the page. */
void report_json_findings(struct json *j, const struct findings *findings);
