// Print how often the most frequent words of a text occur.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

static std::string_view nextWord(std::string_view &text) {
	text.remove_prefix(std::min(text.find_first_not_of(" \n.,"), text.size()));
	std::string_view word = text.substr(0, text.find_first_of(" \n.,"));
	text.remove_prefix(word.size());
	return word;
}

static std::map<std::string_view, int> countWords(std::string_view text) {
	std::map<std::string_view, int> counts;
	for (auto word = nextWord(text); !word.empty(); word = nextWord(text)) {
		counts[word]++;
	}
	return counts;
}

int main(int, char **argv) {
	std::ifstream file(argv[1]);
	std::string text{std::istreambuf_iterator<char>(file), {}};
	auto counts = countWords(text);
	std::vector<std::pair<std::string_view, int>> sorted(counts.begin(), counts.end());
	std::stable_sort(sorted.begin(), sorted.end(),
	                 [](const auto &a, const auto &b) { return a.second > b.second; });
	for (size_t i = 0; i < sorted.size() && i < 3; i++) {
		std::printf("%6d  %.*s\n", sorted[i].second, int(sorted[i].first.size()),
		            sorted[i].first.data());
	}
}
