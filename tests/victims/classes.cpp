// SPDX-License-Identifier: MIT
/*
 * Lives as objects of classes with virtual functions, and tells of how many, how large, and what
 * would go with them: "NAME BLOCKS BYTES RETAINED" a line; "objects NAME N" of those in arenas.
 *
 *     classes [SEED]
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <new>
#include <vector>

namespace zoo {
struct Animal {
	virtual ~Animal() = default;
	virtual int legs() const = 0;
};

struct Named {
	virtual ~Named() = default;
	char *name = nullptr; // a plain block that it holds alone
};

struct Cat : Animal {
	int legs() const override {
		return 4;
	}
	uint64_t fur[3] = {1, 2, 3};
};

/** With two tables of functions; a block begins with the first. */
struct Parrot : Animal, Named {
	int legs() const override {
		return 2;
	}
};

/** Its table begins with more words than others have. */
struct Bat : virtual Animal {
	int legs() const override {
		return 2;
	}
	uint64_t wings = 2;
};

template <typename T> struct Cage : Named { T inside{}; };
} // namespace zoo

namespace {
struct Hidden {
	virtual ~Hidden() = default;
	Hidden *next = nullptr; // a list of them
};
} // namespace

struct Plain { // without a table
	uint64_t words[4] = {1, 2, 3, 4};
};

/** Something that is no table: data of this module. */
struct Pointing {
	const void *where;
	uint64_t words[3] = {0, 0, 0};
};

static const uint64_t data[8] = {0, 0, 0, 0, 0, 0, 0, 1};

std::vector<zoo::Animal *> g_animals;
std::vector<zoo::Cage<double> *> g_cages;
std::vector<Plain *> g_plain;
std::vector<Pointing *> g_pointing;
Hidden *g_hidden;
void *g_arena;
std::list<std::shared_ptr<zoo::Cat>> g_shared;

static unsigned long some(unsigned long most) {
	return 1 + (unsigned long)rand() % most;
}

int main(int argc, char **argv) {
	srand(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
	unsigned long cats = some(2000), parrots = some(2000), bats = some(500), cages = some(500);
	unsigned long hidden = some(3000), in_arena = 10 + some(1000), name_bytes = 0;
	for (unsigned long i = 0; i < cats; i++) {
		g_animals.push_back(new zoo::Cat);
	}
	for (unsigned long i = 0; i < parrots; i++) {
		auto *parrot = new zoo::Parrot;
		unsigned long n = some(100);
		parrot->name = (char *)malloc(n);
		name_bytes += n;
		g_animals.push_back(parrot);
	}
	for (unsigned long i = 0; i < bats; i++) {
		g_animals.push_back(new zoo::Bat);
	}
	for (unsigned long i = 0; i < cages; i++) {
		g_cages.push_back(new zoo::Cage<double>);
	}
	for (unsigned long i = 0; i < hidden; i++) {
		auto *one = new Hidden;
		one->next = g_hidden;
		g_hidden = one;
	}
	for (int i = 0; i < 500; i++) {
		g_plain.push_back(new Plain);
		g_pointing.push_back(new Pointing{&data[2 + i % 4]});
	}
	char *at = (char *)(g_arena = malloc(in_arena * sizeof(zoo::Cat)));
	for (unsigned long i = 0; i < in_arena; i++) {
		new (at + i * sizeof(zoo::Cat)) zoo::Cat;
	}
	for (int i = 0; i < 10; i++) {
		g_shared.push_back(std::make_shared<zoo::Cat>());
	}
	printf("zoo::Cat %lu %lu %lu\n", cats, cats * sizeof(zoo::Cat), cats * sizeof(zoo::Cat));
	printf("zoo::Parrot %lu %lu %lu\n", parrots, parrots * sizeof(zoo::Parrot),
			parrots * sizeof(zoo::Parrot) + name_bytes);
	printf("zoo::Bat %lu %lu %lu\n", bats, bats * sizeof(zoo::Bat), bats * sizeof(zoo::Bat));
	printf("zoo::Cage<double> %lu %lu %lu\n", cages, cages * sizeof(zoo::Cage<double>),
			cages * sizeof(zoo::Cage<double>));
	printf("(anonymous namespace)::Hidden %lu %lu %lu\n", hidden, hidden * sizeof(Hidden),
			hidden * sizeof(Hidden));
	printf("objects zoo::Cat %lu\n", in_arena);
	fflush(stdout);
	_Exit(0);
}
