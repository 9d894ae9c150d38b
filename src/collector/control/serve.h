// SPDX-License-Identifier: MIT
#pragma once
/**
 * The control socket of a recording, where one line is answered with lines of JSON.
 *
 * The watching thread listens, reads and writes, and never waits for anybody. What a command
 * reports or does is up to the thread that records, which is woken for it. One connection is served
 * at a time. As long as nobody asks, all of it is a descriptor in a poll (docs/control.md).
 */

#include "collector/control.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/types.h>

struct control;

/** `bell` is set to 1 and woken for the recording's thread. NULL: no place for a socket. */
struct control *control_open(pid_t program, _Atomic uint32_t *bell);

/** When the watching thread has ended; removes the socket. NULL is allowed. */
void control_close(struct control *c);

// ---- the watching thread. NULL is allowed: nothing is awaited

/** What to wait for next. */
struct pollfd control_awaited(const struct control *c);

/** How long to wait, `most_ms` at most. */
int control_patience_ms(const struct control *c, int most_ms);

/** After the wait; `revents`: of the descriptor above, 0 if the time is up. */
void control_step(struct control *c, short revents);

// ---- the recording's thread. NULL is allowed: nobody asks

/** The command whose answer somebody waits for; CONTROL_COMMANDS: nobody waits. */
enum control_command control_asked(const struct control *c);

/** The answer: put() appends it, as one line. */
void control_answer(struct control *c, void (*put)(void *user, struct buffer *out), void *user);

/** The last status, given to all who ask from now on: the recording's thread answers no more. */
void control_settle(struct control *c, void (*put)(void *user, struct buffer *out), void *user);
