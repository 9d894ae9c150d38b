// SPDX-License-Identifier: MIT
#include "host.h"

_Thread_local struct thread_self thread_self;
