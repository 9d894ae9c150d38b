// SPDX-License-Identifier: MIT
#define TREE_LIBRARY tree_library_1
#include "tree_body.h"
