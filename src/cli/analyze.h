// SPDX-License-Identifier: MIT
#pragma once

/**
 * `heaptrack --analyze WORDS...`: where a browser can open, the page; on a terminal without one
 * (over ssh, in a container), the text report and ready lines for the page; into a pipe or a file,
 * the text report alone. --web among the words: the page, whatever there is to show it; --text: the
 * report. Nothing listens unless a person asked for it or can see it. Gives the exit status.
 */
int cli_analyze(int n, char **words);
