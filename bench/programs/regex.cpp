// SPDX-License-Identifier: MIT
// Something for a compiler to chew on
#include <iostream>
#include <map>
#include <regex>
#include <string>

int main(int argc, char **argv) {
	std::regex words("([a-z]+) ([0-9]+)(,|;|$)");
	std::map<std::string, int> counts;
	for (int i = 1; i < argc; i++) {
		std::string text = argv[i];
		for (std::sregex_iterator it(text.begin(), text.end(), words), end; it != end; ++it) {
			counts[(*it)[1]] += std::stoi((*it)[2]);
		}
	}
	for (const auto &[word, n] : counts) {
		std::cout << word << ' ' << n << '\n';
	}
}
