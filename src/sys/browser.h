// SPDX-License-Identifier: MIT
#pragma once
/** Opens pages in a browser on this machine's display. */

#include "base/base.h"

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
