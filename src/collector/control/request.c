// SPDX-License-Identifier: MIT
/* Parses the line of a request, whose first word is the command. */
#include "collector/control.h"

static const char *const names[CONTROL_COMMANDS] =
		{[CONTROL_STATUS] = "status", [CONTROL_LOOK] = "look"};

enum { SHOWN_BYTES = 40 };

enum control_command control_command(struct slice name) {
	const char *const *found = FIND(at, names, CONTROL_COMMANDS, slice_is(name, *at));
	return found ? (enum control_command)(found - names) : CONTROL_COMMANDS;
}

static struct slice next_word(struct slice *line) {
	struct slice word = skip_spaces(*line), rest = word;
	while (rest.size > 0 && *rest.data != ' ' && *rest.data != '\t') {
		rest = slice_of(rest.data + 1, rest.size - 1);
	}
	*line = rest;
	return slice_of(word.data, word.size - rest.size);
}

static bool say_unknown(struct slice word, struct err *err) {
	struct nearest nearest = nearest_init(word);
	for (size_t i = 0; i < CONTROL_COMMANDS; i++) {
		nearest_try(&nearest, names[i]);
	}
	if (nearest.name) {
		return err_usage(err, "unknown command \"%.*s\"; did you mean \"%s\"?", SLICE_ARG(word),
				nearest.name);
	}
	word.size = word.size < SHOWN_BYTES ? word.size : SHOWN_BYTES;
	return err_usage(err, "unknown command \"%.*s\"; use \"%s\" or \"%s\"", SLICE_ARG(word),
			names[CONTROL_STATUS], names[CONTROL_LOOK]);
}

bool control_request(struct slice line, enum control_command *command, struct err *err) {
	if (line.size > 0 && line.data[line.size - 1] == '\r') {
		line.size--;
	}
	if (!ALL(i, line.size, line.data[i] >= ' ' || line.data[i] == '\t')) {
		return err_format(err, "the line contains control characters");
	}
	struct slice word = next_word(&line);
	if (word.size == 0) {
		return err_usage(err, "empty line; use \"%s\" or \"%s\"", names[CONTROL_STATUS],
				names[CONTROL_LOOK]);
	}
	*command = control_command(word);
	if (*command == CONTROL_COMMANDS) {
		return say_unknown(word, err);
	}
	return next_word(&line).size == 0 ||
			err_usage(err, "\"%s\" takes no arguments", names[*command]);
}
