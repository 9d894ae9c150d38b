// SPDX-License-Identifier: MIT
#pragma once

/** The browser of the person at this machine's display. */

#include "base/err.h"

/** True if there is a display that a window could open on. */
bool browser_is_likely(void);

/** True if whoever types came over ssh. */
bool browser_is_remote(void);

/**
 * Opens a page that sends the browser on to `address`, by way of a file that only this user may
 * read: an address on the command line would be seen by all. `file` gets the file's path, which the
 * caller unlinks once the page was asked for. False: `err` says what is
 * in the way. Whether a browser really came up nobody can tell.
 */
bool browser_open(const char *address, char file[4096], struct err *err);
