// SPDX-License-Identifier: MIT
/**
 * The bundled demo: a server in small, of which everything is known.
 *
 *   spike()        two 16 MB buffers at once, for 0.4 s, twice: with the rest the peak, 38 MB
 *   leakyParse()   1,500 blocks, of which 1,000 are never freed, evenly over the whole run
 *   temp()         50,000 strings that nobody keeps
 *   makeSession()  a cache that fills to 5 MB in the first half of the run and stays there
 *   buildMatrix()  a vector that grows to 2,000,000 numbers by doubling
 */

#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static constexpr int TICKS = 50; // of 40 ms each; the spikes come on top
static constexpr size_t SESSION_BYTES = 10'000;
static constexpr size_t MAX_SESSIONS = 500;

static size_t checksum; // what is computed is used, so that nothing is optimised away

static std::vector<double> buildMatrix() {
	std::vector<double> matrix;
	for (int i = 0; i < 2'000'000; i++) {
		matrix.push_back(i);
	}
	return matrix;
}

static void spike() {
	std::vector<char> request(16'000'000, 'r');
	std::vector<char> answer(request);
	std::this_thread::sleep_for(400ms);
	checksum += answer.size() + request.size();
}

static char *leakyParse(int line) {
	char *token = new char[512 + line % 64];
	memset(token, line, 512);
	checksum += size_t(token[line % 512]);
	return token;
}

static void parseConfig(int tick) {
	for (int i = 0; i < 30; i++) {
		char *token = leakyParse(tick * 30 + i);
		if (i % 3 == 0) {
			delete[] token; // the other two are forgotten
		}
	}
}

static void temp(int tick) {
	for (int i = 0; i < 1'000; i++) {
		std::string line(100, char('a' + (tick + i) % 26));
		checksum += line.size();
	}
}

static char *makeSession() {
	char *session = new char[SESSION_BYTES];
	memset(session, 's', SESSION_BYTES);
	return session;
}

static void handleRequest(std::deque<char *> &sessions) {
	for (int i = 0; i < 20; i++) {
		sessions.push_back(makeSession());
		if (sessions.size() > MAX_SESSIONS) {
			delete[] sessions.front();
			sessions.pop_front();
		}
	}
}

int main() {
	std::deque<char *> sessions;

	for (int tick = 0; tick < TICKS; tick++) {
		parseConfig(tick);
		handleRequest(sessions);
		temp(tick);
		if (tick == 10) {
			checksum += buildMatrix().size();
		}
		if (tick == 30 || tick == 45) {
			spike();
		}
		std::this_thread::sleep_for(40ms);
	}
	for (char *session : sessions) {
		delete[] session;
	}
	printf("demo: served %d requests (checksum %zu)\n", TICKS * 20, checksum);
	return 0;
}
