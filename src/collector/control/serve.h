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

// ---- what both ends of the control socket of a recording agree on, and where it is
//
// PID.sock in the folder "heaptrack" of the user's runtime folder, which only that user can change;
// else the abstract name heaptrack-ctl-UID-PID, where the credentials of whoever connects are
// checked. PID is that of the recorded program.

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
 * The folders to try, for a user as `root` (a prefix; "" is ours) has them. `runtime`:
 * $XDG_RUNTIME_DIR, or NULL. Returns how many there are.
 */
enum { CONTROL_FOLDERS = 3 };
size_t control_folders(struct control_place out[CONTROL_FOLDERS], uid_t uid, const char *runtime,
		const char *root);

/** False: the name would be too long. */
bool control_in_folder(struct control_place *place, const struct control_place *folder, pid_t pid);

/** Listen at the first place where that is possible, creating the folder. -1: nowhere. */
int control_listen(struct control_place *place, pid_t pid);
