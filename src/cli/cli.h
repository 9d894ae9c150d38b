// SPDX-License-Identifier: MIT
#pragma once

/**
 * The commands. Each takes its own name and arguments, prints its result on stdout and what is
 * wrong on stderr, and returns the exit status. Only this folder prints.
 */

int cli_heaptrack(int argc, char **argv);
int cli_print(int argc, char **argv);
int cli_gui(int argc, char **argv);
int cli_interpret(int argc, char **argv); // the filter of that name
