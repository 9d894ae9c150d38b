// SPDX-License-Identifier: MIT
#pragma once
/** Whether a descriptor is a terminal, and how wide it is. */

#include <stdbool.h>

/** True if `fd` is a terminal: progress is shown there, and nowhere else. */
bool terminal_is(int fd);

/** Its width in columns; 0 if `fd` is no terminal or does not say. */
unsigned terminal_columns(int fd);

/**
 * As terminal_columns. Where `fd` is a pipe, to a pager most likely, the columns of the terminal
 * that messages go to, if those are fewer than `most`.
 */
unsigned terminal_columns_behind(int fd, unsigned most);

/** Its height in lines; 0 likewise. */
unsigned terminal_lines(int fd);

/**
 * True if this process has a controlling terminal (job control is possible) and, with
 * `in_foreground`, belongs to its foreground process group.
 */
bool terminal_controls_us(bool in_foreground);
