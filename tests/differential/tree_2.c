// SPDX-License-Identifier: MIT
#define TREE_LIBRARY tree_library_2
#include "tree_body.h"
