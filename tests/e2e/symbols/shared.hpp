// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

// Code that both C++ units compile: the linker keeps one copy of each function.

namespace shape {

struct base {
	virtual ~base() = default;
	virtual double area() const = 0;
};

template <typename T> struct square : base {
	explicit square(T a) : side(a) {}
	double area() const override {
		return static_cast<double>(side * side);
	}
	T side;
};

template <typename T> inline T total(const std::vector<T> &values) {
	T sum{};
	for (const T &v : values) {
		sum += v;
	}
	return sum;
}

inline std::vector<int> sorted(std::vector<int> values) {
	std::sort(values.begin(), values.end(), [](int a, int b) { return a > b; });
	return values;
}

} // namespace shape

using words = std::map<std::string, int>;

int count_words(const words &all);
double areas(int n);
extern "C" int plain_c(int n);
extern "C" int _Zebra(int n);
