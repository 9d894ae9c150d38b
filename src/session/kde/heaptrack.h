// SPDX-License-Identifier: MIT
#pragma once

/**
 * Files of KDE's heaptrack, interpreted (format 0 to 3) or raw, through the engine's aggregate:
 * they contain single events, so the result supports the same queries as heaptrack's own
 * recordings. Raw files are symbolized here, with the binaries on this machine.
 */

#include "session/import.h"

bool import_heaptrack_knows(struct slice head);
bool import_heaptrack(struct import *import, struct err *err);
