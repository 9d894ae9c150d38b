// SPDX-License-Identifier: MIT
#pragma once
/**
 * The control socket of a recording: one line gets lines of JSON (docs/control.md).
 *
 * The watching thread listens, reads and writes, and never blocks; the recording's thread, which is
 * woken for it, answers a command. One connection is served at a time. While nobody asks, all of it
 * is a descriptor in a poll.
 */

#include "collector/control.h"

struct control;

/** `bell` is set to 1 and woken for the recording's thread. NULL: no place for a socket. */
struct control *control_open(pid_t program, _Atomic uint32_t *bell);

/** After the watching thread's end; removes the socket. NULL is allowed. */
void control_close(struct control *c);

// ---- the watching thread (NULL is allowed: nothing is awaited)

struct pollfd control_awaited(const struct control *c);

/** How long to wait, at most `most_ms`. */
int control_patience_ms(const struct control *c, int most_ms);

/** After the wait; `revents`: of the descriptor above, 0 if the time is up. */
void control_step(struct control *c, short revents);

// ---- the recording's thread (NULL is allowed: nobody asks)

/** The command that somebody waits for; CONTROL_COMMANDS: none. */
enum control_command control_asked(const struct control *c);

/** The answer: put() appends it, as one line. */
void control_answer(struct control *c, void (*put)(void *user, struct buffer *out), void *user);

/** The last status, for all who ask from now on: the recording's thread answers no more. */
void control_settle(struct control *c, void (*put)(void *user, struct buffer *out), void *user);

// ---- what both ends of the control socket agree on, and where it is
//
// PID.sock (the recorded program's PID) in "heaptrack" in the user's runtime folder, which only
// that user can change; else the abstract name heaptrack-ctl-UID-PID, where the credentials of
// whoever connects are checked.

enum {
	CONTROL_PROTOCOL = 1,             // the version, in the first line of every answer
	CONTROL_LINE_BYTES = 64 << 10,    // of a request, without its end
	CONTROL_ANSWER_BYTES = 256 << 10, // of an answer, all of its lines
};

/** The error after which the same request may succeed. */
#define CONTROL_BUSY "{\"error\":\"busy, try again\"}"

/** The program has ended, or heaptrack has detached: there is nothing to look at. */
#define CONTROL_TOO_LATE "{\"error\":\"the recording is being completed\"}"

/**
 * The folders to try, as seen from `root` (a prefix; "" is ours). `runtime`: $XDG_RUNTIME_DIR, or
 * NULL. Returns how many there are.
 */
enum { CONTROL_FOLDERS = 3 };
size_t control_folders(struct control_place out[CONTROL_FOLDERS], uid_t uid, const char *runtime,
		const char *root);

/** False: the name is too long. */
bool control_in_folder(struct control_place *place, const struct control_place *folder, pid_t pid);

/** Listen at the first place that works, creating the folder. -1: nowhere. */
int control_listen(struct control_place *place, pid_t pid);
