// SPDX-License-Identifier: MIT
#define TREE_LIBRARY tree_library_5
#include "tree_body.h"
