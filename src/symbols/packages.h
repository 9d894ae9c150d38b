// SPDX-License-Identifier: MIT
#pragma once
/**
 * Which source package an installed file was built from: "ghostscript" for /usr/bin/gs and for
 * libgs.so.10. Programs and libraries of one source package are one product.
 *
 * Formats: dpkg's status and info/NAME.list (deb-control(5), dpkg(1)) and apk's installed database
 * (apk-package(5)). Other systems have no answer. One thread at a time.
 */

#include "base/base.h"

struct packages;

/**
 * The packages of a root folder: a descriptor, which becomes ours; -1: our own root. Nothing is
 * read yet. NULL: no memory, and the descriptor is closed.
 */
struct packages *packages_create(int root_fd);
void packages_destroy(struct packages *p);

/** True for a path in a folder where packages put code. Reads nothing. */
bool packages_may_hold(const char *path);

/**
 * The name of the source package; lives as long as `p`. Empty: the file is of no package, or the
 * database could not be read. The first question about a file in a system folder reads the whole
 * database, some 30 ms for 1,000 packages: ask only if the program itself belongs to a package.
 */
struct slice packages_source_of(struct packages *p, const char *path);
