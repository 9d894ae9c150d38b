// SPDX-License-Identifier: MIT
#pragma once
/** The user's terminal and display: whether a descriptor is one, how wide it is, and a browser. */

#include "base/base.h"

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

// ---- a browser on this machine's display

/** True if there is a display that a window could open on. */
bool browser_is_likely(void);

/** True in an ssh session. */
bool browser_is_remote(void);

/**
 * Opens a page that redirects the browser to `address`, through a file that only this user can
 * read: all users can see the command line. `file` gets the path of the file, which the caller
 * unlinks once the page has been requested. False: `err` says why. Whether a browser really started
 * cannot be determined.
 */
bool browser_open(const char *address, char file[4096], struct err *err);
