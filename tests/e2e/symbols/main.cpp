// SPDX-License-Identifier: MIT
#include "shared.hpp"

#include <cstdio>
#include <functional>
#include <stdexcept>

namespace {

struct hidden {
	int twice(int n) {
		return apply([n](int k) { return n * k; }, 2);
	}
	template <typename F> int apply(F f, int n) {
		return f(n);
	}
};

int throwing(int n) {
	try {
		if (n > 3) {
			throw std::runtime_error("too many: " + std::to_string(n));
		}
		return n;
	} catch (const std::exception &e) {
		return static_cast<int>(std::string(e.what()).size());
	}
}

} // namespace

namespace outer::inner {

static std::function<int(int)> adder(int n) {
	struct local {
		int n;
		__attribute__((noinline)) int add(int k) const {
			return n + k;
		}
	};
	local l{n};
	return [l](int k) {
		std::vector<int> v;
		for (int i = 0; i < k; i++) {
			v.push_back(l.add(i));
		}
		return shape::total(shape::sorted(v));
	};
}

} // namespace outer::inner

int main(int argc, char **argv) {
	words all;
	for (int i = 0; i < argc; i++) {
		all[argv[i]]++;
	}
	int sum = count_words(all) + hidden{}.twice(argc) + throwing(argc);
	sum += outer::inner::adder(argc)(10) + plain_c(argc) + _Zebra(argc);
	std::printf("%d %g\n", sum, areas(argc));
	return 0;
}
