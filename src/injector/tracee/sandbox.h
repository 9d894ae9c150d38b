// SPDX-License-Identifier: MIT
#pragma once
/**
 * Whether the filters of a sandbox (seccomp) let a process make the calls that recording needs.
 *
 * A filter may answer a call by killing the process, which must not happen.
 */

#include "injector/tracee/tracee.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

/** What a filter answers to a call; one that cannot be understood: that it kills. */
uint32_t sandbox_answer(const struct sock_filter *code, size_t n, const struct seccomp_data *call);

/**
 * All threads are stopped: run the filters of each on every call that recording may make in it.
 * True: each is allowed, or refused with an error, which is harmless. Needs CAP_SYS_ADMIN.
 */
bool sandbox_lets_us(const struct tracee *t, struct err *err);
