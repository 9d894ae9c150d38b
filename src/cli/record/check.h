// SPDX-License-Identifier: MIT
#pragma once

/** Facts for heaptrack --check. Used by check.c alone. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum check_libc { CHECK_GLIBC, CHECK_MUSL, CHECK_OTHER_LIBC, CHECK_UNKNOWN_LIBC };

/** Which C library a process has, and in `text` what follows from it. Reads its files. */
enum check_libc check_libc(pid_t pid, char *text, size_t size);

/** May we trace processes of others? In words. */
void check_capabilities(char *text, size_t size);
