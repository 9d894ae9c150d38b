// SPDX-License-Identifier: MIT
#pragma once
/**
 * The vocabulary of what talks to Linux: clocks, files and processes, and the C library's headers
 * that go with them. Sources that need two or more of these include this instead.
 */

#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
