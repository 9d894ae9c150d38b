// SPDX-License-Identifier: MIT
#pragma once
/**
 * Finds recordings in progress and asks them through their control sockets. A request
 * (docs/control.md) is one line, a command and its arguments; the answer is lines of JSON.
 */

#include "sys/listen.h"
#include "sys/sys.h"

/** The name of a socket, as for connect_to_unix. */
struct control_place {
	char name[UNIX_NAME_BYTES];
};

struct control_found {
	struct control_place place;
	pid_t pid;   // of the program, by the socket's name
	uid_t owner; // who must be at the other end, root aside
	bool is_own; // in a folder of this user: may be removed once nobody listens
};

struct control_list {
	VEC(struct control_found);
};

/** All sockets of this user. vec_finish frees the list. */
void control_find_all(struct control_list *list);

/**
 * The places for one program's socket, likeliest first, mostly one: of the user who records it,
 * here or, in a container, where the program has its own files.
 */
void control_find(struct control_list *list, pid_t pid);

/**
 * Send a line (without its end) and append the lines of the answer but the first, which is checked
 * here. Waits 10 s at most, 40 s for a look. False: `err`; ERR_NOT_FOUND if nobody listens.
 */
bool control_ask(const struct control_found *at, const char *line, struct buffer *answer,
		struct err *err);

enum control_command { CONTROL_STATUS, CONTROL_LOOK, CONTROL_COMMANDS };

/** The command of that name; CONTROL_COMMANDS: none. */
enum control_command control_command(struct slice name);

/** A line without its end. False: `err` says what is wrong, and names the nearest command. */
bool control_request(struct slice line, enum control_command *command, struct err *err);
