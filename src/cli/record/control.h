// SPDX-License-Identifier: MIT
#pragma once

/** Queries recordings in progress: heaptrack --ctl. */

/** `heaptrack --ctl`; argv[0] is that word, what follows is which recording, and the command. */
int cli_control(int argc, char **argv);
