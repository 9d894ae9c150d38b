// SPDX-License-Identifier: MIT
#pragma once
/**
 * Resource limits of this process (ulimit -s, -n). They are raised if they are too low for
 * heaptrack; programs that it starts get the original ones.
 */

/** First of all in main. Threads made from then on have a stack of a size of our own. */
void own_limits_raise(void);

/** As they were when own_limits_raise was called. Also between fork and exec. */
void own_limits_restore(void);
