// SPDX-License-Identifier: MIT
#define TREE_LIBRARY tree_library_3
#include "tree_body.h"
