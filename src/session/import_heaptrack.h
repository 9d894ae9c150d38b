// SPDX-License-Identifier: MIT
#pragma once

/**
 * Files of KDE's heaptrack, interpreted (format 0 to 3) or raw, through the engine's aggregate: they
 * hold single events, so a recording made of them answers what one of ours answers. Raw ones get
 * their names here, from the binaries on this machine.
 */

#include "session/import.h"

bool import_heaptrack_knows(struct slice head);
bool import_heaptrack(struct import *import, struct err *err);
