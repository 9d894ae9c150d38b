// SPDX-License-Identifier: MIT
#pragma once

/** The numbers of the control protocol, for both of its ends. */

enum {
	CONTROL_PROTOCOL = 1,             // the version, in the first line of every answer
	CONTROL_LINE_BYTES = 64 << 10,    // of a request, without its end
	CONTROL_ANSWER_BYTES = 256 << 10, // of an answer, all of its lines
};

/** The error after which the same request may succeed. */
#define CONTROL_BUSY "{\"error\":\"busy, try again\"}"
