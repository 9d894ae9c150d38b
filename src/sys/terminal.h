// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>

/** True if `fd` is a terminal: progress is shown there, and nowhere else. */
bool terminal_is(int fd);

/** Its width in columns; 0 if `fd` is no terminal or does not say. */
unsigned terminal_columns(int fd);

/** True if this process has a controlling terminal (job control is possible). */
bool terminal_controls_us(void);

/** True if it has one and belongs to its foreground process group. */
bool terminal_is_foreground(void);
