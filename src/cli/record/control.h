// SPDX-License-Identifier: MIT
#pragma once

/** `heaptrack --ctl`; argv[0] is that word, what follows is which recording, and the command. */
int cli_control(int argc, char **argv);
