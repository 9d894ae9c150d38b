// SPDX-License-Identifier: MIT
// Maps and strings that come and go: churn ROUNDS [THREADS]
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

static unsigned next(unsigned &seed) {
	return seed = seed * 1664525u + 1013904223u;
}

static std::string key(unsigned n) {
	return "a key that is longer than the small string buffer " + std::to_string(n);
}

static void insert_one(std::map<std::string, std::string> &m, unsigned &seed) {
	m[key(next(seed) >> 20)] = std::string(20 + (next(seed) >> 26), 'x');
}

static void erase_one(std::map<std::string, std::string> &m, unsigned &seed) {
	m.erase(key(next(seed) >> 20));
}

static void churn(int rounds, unsigned seed) {
	std::map<std::string, std::string> m;
	for (int i = 0; i < rounds; i++) {
		insert_one(m, seed);
		if (m.size() > 1000) {
			erase_one(m, seed);
		}
	}
}

int main(int argc, char **argv) {
	int rounds = argc > 1 ? atoi(argv[1]) : 200000;
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	std::vector<std::thread> others;
	for (int i = 1; i < threads; i++) {
		others.emplace_back(churn, rounds / threads, static_cast<unsigned>(i));
	}
	churn(rounds / threads, 0);
	for (auto &t : others) {
		t.join();
	}
}
