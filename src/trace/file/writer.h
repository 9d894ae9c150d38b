// SPDX-License-Identifier: MIT
#pragma once

/** What the writer of the finished file asks of that of the growing one. */

#include "trace/trace.h"

/** Bring all events given so far into the file. */
bool writer_cut_events(struct trace_writer *w, struct err *err);
