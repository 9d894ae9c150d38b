// SPDX-License-Identifier: MIT
#pragma once

/**
 * Files of KDE's heaptrack, interpreted (format 0 to 3) or raw.
 *
 * They contain single events, which go through the engine's aggregate, so the result supports the
 * same queries as heaptrack's own recordings. Raw files are symbolized here, with the binaries of
 * this machine.
 */

#include "session/import/importer.h"

bool import_heaptrack(struct import *import, struct err *err);
