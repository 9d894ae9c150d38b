// SPDX-License-Identifier: MIT
#pragma once
/** Threads as session/kde/feed.c names them: there is one, and no other can be created. */

#include <errno.h>

typedef int pthread_t, pthread_mutex_t, pthread_cond_t;

static inline int pthread_nothing(void *of) {
	(void)of;
	return 0;
}

#define pthread_mutex_init(mutex, how)         pthread_nothing(mutex)
#define pthread_mutex_destroy                  pthread_nothing
#define pthread_mutex_lock                     pthread_nothing
#define pthread_mutex_unlock                   pthread_nothing
#define pthread_cond_init(cond, how)           pthread_nothing(cond)
#define pthread_cond_destroy                   pthread_nothing
#define pthread_cond_signal                    pthread_nothing
#define pthread_cond_wait(cond, mutex)         pthread_nothing(cond)
#define pthread_create(thread, how, run, user) ((void)(run), EAGAIN)
#define pthread_join(thread, result)           ((void)(thread))
