// SPDX-License-Identifier: MIT
#pragma once
/** Threads as session/kde/feed.c names them: there is one, and no other can be created. */

#include <errno.h>

typedef int pthread_t, pthread_mutex_t;

#define pthread_mutex_lock(mutex)              ((void)(mutex))
#define pthread_mutex_unlock(mutex)            ((void)(mutex))
#define pthread_create(thread, how, run, user) EAGAIN
#define pthread_join(thread, result)           ((void)(thread))
