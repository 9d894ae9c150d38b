// SPDX-License-Identifier: MIT
// Threads that each build a list and free it: lists NODES THREADS. MemHawk publishes its figures for
// 1,000,000 nodes and 16 threads.
#include <cstdlib>
#include <thread>
#include <vector>

struct node {
	node *next;
	long value;
};

static void build_and_free(long n) {
	node *first = nullptr;
	for (long i = 0; i < n; i++) {
		first = new node{first, i};
	}
	while (first) {
		node *next = first->next;
		delete first;
		first = next;
	}
}

int main(int argc, char **argv) {
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	int n_threads = argc > 2 ? atoi(argv[2]) : 16;
	std::vector<std::thread> threads;
	for (int i = 0; i < n_threads; i++) {
		threads.emplace_back(build_and_free, n);
	}
	for (auto &thread : threads) {
		thread.join();
	}
}
