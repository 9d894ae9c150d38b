// SPDX-License-Identifier: MIT
#pragma once

/** The parts of an order's sink that a measurement has no use for: all threads are alive. */

#include "collector/order/order.h"

static inline void idle_thread_ended(void *user, uint32_t thread) {
	(void)user;
	(void)thread;
}

static inline void idle_image(void *user, uint32_t image) {
	(void)user;
	(void)image;
}

static inline bool idle_is_alive(void *user, uint32_t pid, uint32_t tid) {
	(void)user;
	(void)pid;
	(void)tid;
	return true;
}
