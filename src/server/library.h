// SPDX-License-Identifier: MIT
#pragma once
/**
 * The calls of libmicrohttpd that http.c makes. Whoever serves no page does not pay for the
 * library, and for the ten that it brings with it where it was built with TLS.
 */

#include "base/base.h"

#include <microhttpd.h>

#define LIBRARY_CALLS(X)                              \
	X(add_response_header)                            \
	X(create_response_from_buffer)                    \
	X(create_response_from_buffer_with_free_callback) \
	X(create_response_from_callback)                  \
	X(destroy_response)                               \
	X(lookup_connection_value)                        \
	X(queue_response)                                 \
	X(resume_connection)                              \
	X(start_daemon)                                   \
	X(stop_daemon)                                    \
	X(suspend_connection)

struct library {
#define CALL(name) __typeof__(MHD_##name) *name;
	LIBRARY_CALLS(CALL)
#undef CALL
};

/** Fills `library`, which then stays good for the life of the process. */
bool library_load(struct library *library, struct err *err);
