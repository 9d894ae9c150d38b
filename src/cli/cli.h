// SPDX-License-Identifier: MIT
#pragma once

/**
 * The four commands.
 *
 * Each takes its own name and arguments, prints its result on stdout and what is wrong on stderr,
 * and returns the exit status. Only this folder prints.
 */

/** Behind the command's name in what --version prints; KDE's heaptrack ends with its number. */
#define CLI_VERSION HEAPTRACK_VERSION " (heaptrack-c)"

int cli_heaptrack(int argc, char **argv);
int cli_print(int argc, char **argv);
int cli_gui(int argc, char **argv);
int cli_interpret(int argc, char **argv); // the filter of that name
