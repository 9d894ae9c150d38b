// SPDX-License-Identifier: MIT
#pragma once
/**
 * The vocabulary for Linux: clocks, files, processes and what they wait for, with the C library's
 * headers for them. Headers of collector, injector and cli include it; sources get it from them.
 */

#include "sys/clock.h"
#include "sys/file.h"
#include "sys/futex.h"
#include "sys/process.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
