// SPDX-License-Identifier: MIT
#define TREE_LIBRARY tree_library_4
#include "tree_body.h"
