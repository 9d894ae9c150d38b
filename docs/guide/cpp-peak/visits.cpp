// Print the most visited pages of a web server's log.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

struct Visit {
	std::string visitor;
	std::string page;
	int status;
};

struct Page {
	std::string name;
	int visits;
};

static std::vector<Visit> readLog(const char *path) {
	std::ifstream log(path);
	std::vector<Visit> visits;
	Visit visit;
	while (log >> visit.visitor >> visit.page >> visit.status) {
		visits.push_back(visit);
	}
	return visits;
}

static std::vector<Page> countPages(const std::vector<Visit> &visits) {
	std::vector<Visit> sorted = visits;
	std::sort(sorted.begin(), sorted.end(),
	          [](const Visit &a, const Visit &b) { return a.page < b.page; });
	std::vector<Page> pages;
	for (const Visit &visit : sorted) {
		if (pages.empty() || pages.back().name != visit.page) {
			pages.push_back({visit.page, 0});
		}
		pages.back().visits++;
	}
	return pages;
}

int main(int, char **argv) {
	std::vector<Visit> visits = readLog(argv[1]);
	std::vector<Page> pages = countPages(visits);
	std::stable_sort(pages.begin(), pages.end(),
	                 [](const Page &a, const Page &b) { return a.visits > b.visits; });
	std::printf("%zu visits, %zu pages\n", visits.size(), pages.size());
	for (size_t i = 0; i < pages.size() && i < 3; i++) {
		std::printf("%6d  %s\n", pages[i].visits, pages[i].name.c_str());
	}
}
