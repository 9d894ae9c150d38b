// SPDX-License-Identifier: MIT
#pragma once

/** Opens a recording in the way that suits the place: the page or the text report. */

/**
 * `heaptrack --analyze WORDS...`: the page, if a browser can be opened; on a terminal without one
 * (over ssh, in a container), the text report and the commands for the page; into a pipe or a file,
 * only the text report. --web among the arguments forces the page, --text the report. No server is
 * started unless the user asked for it or can see it. Returns the exit status.
 */
int cli_analyze(int n, char **words);
