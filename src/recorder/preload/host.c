// SPDX-License-Identifier: MIT
#include "recorder/preload/host.h"

_Thread_local struct thread_words thread_self;
