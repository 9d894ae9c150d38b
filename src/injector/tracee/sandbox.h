// SPDX-License-Identifier: MIT
#pragma once

/** Would a process that is in a sandbox (seccomp) be harmed by the system calls that recording it needs? */

#include "injector/tracee/tracee.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

/** What a filter answers to a call. A filter that cannot be understood kills. */
uint32_t sandbox_answer(const struct sock_filter *code, size_t n, const struct seccomp_data *call);

/**
 * All threads are stopped: run the filters of each on every call that we would make it do. True: they
 * allow them, or refuse them with an error, with which we can live. Needs CAP_SYS_ADMIN.
 */
bool sandbox_lets_us(const struct tracee *t, struct err *err);
