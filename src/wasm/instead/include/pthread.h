// SPDX-License-Identifier: MIT
#pragma once
/** Threads as engine/aggregate/feed.c names them: there is one, and no other can be created. */

#include <errno.h>

typedef int pthread_t, pthread_mutex_t, pthread_cond_t;

#define pthread_mutex_lock(mutex)              ((void)(mutex))
#define pthread_mutex_unlock(mutex)            ((void)(mutex))
#define pthread_mutex_init(mutex, how)         ((void)(mutex))
#define pthread_cond_init(cond, how)           ((void)(cond))
#define pthread_cond_signal(cond)              ((void)(cond))
#define pthread_cond_wait(cond, mutex)         ((void)(cond))
#define pthread_create(thread, how, run, user) ((void)(run), EAGAIN)
#define pthread_join(thread, result)           ((void)(thread))
