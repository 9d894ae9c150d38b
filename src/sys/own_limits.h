// SPDX-License-Identifier: MIT
#pragma once

/**
 * The system's limits on this process. Ours are raised where they would be too low for us (ulimit
 * -s, -n); a program that we start gets those that we were started with.
 */

/** First of all in main. Threads made from then on have a stack of a size of our own. */
void own_limits_raise(void);

/** As they were when own_limits_raise was called. Also between fork and exec. */
void own_limits_restore(void);
