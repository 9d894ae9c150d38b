// SPDX-License-Identifier: MIT
// Binary trees built and torn down by recursion: tree ROUNDS
#include <cstdlib>
#include <memory>
#include <string>

struct node {
	std::unique_ptr<node> left, right;
	std::string label;
};

static std::unique_ptr<node> build(int depth, unsigned label) {
	auto n = std::make_unique<node>();
	n->label = "node number " + std::to_string(label) + " of a tree";
	if (depth > 0) {
		n->left = build(depth - 1, label * 2);
		n->right = build(depth - 1, label * 2 + 1);
	}
	return n;
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 40;
	for (int i = 0; i < rounds; i++) {
		build(13, 1);
	}
}
