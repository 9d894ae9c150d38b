// SPDX-License-Identifier: MIT
#pragma once

/** What is asked through the control socket: one line, a command and perhaps words behind it. */

#include "base/err.h"
#include "base/slice.h"

enum {
	CONTROL_PROTOCOL = 1,             // of the first line of every answer
	CONTROL_LINE_BYTES = 64 << 10,    // of a request, without its end
	CONTROL_ANSWER_BYTES = 256 << 10, // of an answer, all of its lines
};

/** The error after which the same request may succeed. */
#define CONTROL_BUSY "{\"error\":\"busy, try again\"}"

enum control_command { CONTROL_STATUS, CONTROL_COMMANDS };

/** The command of that name; CONTROL_COMMANDS: none has it. */
enum control_command control_command(struct slice name);

/** A line without its end. False: `err` says what is wrong with it, naming the nearest command. */
bool control_request(struct slice line, enum control_command *command, struct err *err);
