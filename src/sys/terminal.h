// SPDX-License-Identifier: MIT
#pragma once
/** The user's terminal and display: whether a descriptor is a terminal, its size, and a browser. */

#include "base/base.h"

/** Its width in columns; 0: not a terminal, or unknown. */
unsigned terminal_columns(int fd);

/** As terminal_columns. For a pipe, probably to a pager: stderr's columns, if fewer than `most`. */
unsigned terminal_columns_behind(int fd, unsigned most);

/** Its height in lines, or 0. */
unsigned terminal_lines(int fd);

/** Does a terminal control this process, and, `in_foreground`, is it in the foreground group? */
bool terminal_controls_us(bool in_foreground);

// ---- a browser on this machine's display

/** Is there a display for a window? */
bool browser_is_likely(void);

/** Is this an ssh session? */
bool browser_is_remote(void);

/**
 * Open a page that redirects the browser to `address`, from a file that only this user can read,
 * since all users can see the command line. `file` gets its path, which the caller unlinks once the
 * page was requested. False: see `err`. Whether a browser really started is unknown.
 */
bool browser_open(const char *address, char file[4096], struct err *err);
