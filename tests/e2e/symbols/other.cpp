// SPDX-License-Identifier: MIT
#include "shared.hpp"

int count_words(const words &all) {
	std::vector<int> values;
	for (const auto &[word, n] : all) {
		values.push_back(n + static_cast<int>(word.size()));
	}
	return shape::total(shape::sorted(values));
}

double areas(int n) {
	std::vector<std::unique_ptr<shape::base>> all;
	for (int i = 0; i < n; i++) {
		all.push_back(std::make_unique<shape::square<int>>(i));
		all.push_back(std::make_unique<shape::square<double>>(i / 2.0));
	}
	double sum = 0;
	for (const auto &s : all) {
		sum += s->area();
	}
	return sum;
}
