// SPDX-License-Identifier: MIT
#define TREE_LIBRARY tree_library_0
#include "tree_body.h"
