// SPDX-License-Identifier: MIT
// A server that answers JSON with JSON, a thread per connection, on loopback, and its clients in a
// child process: json_server REQUESTS. It ends when the clients have.
#include <arpa/inet.h>
#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using nlohmann::json;

enum { CLIENTS = 4, KEYS = 500 };

/** A line without its end. False: there is none any more. */
static bool read_line(int fd, std::string &buffer, std::string &line) {
	size_t end;
	while ((end = buffer.find('\n')) == std::string::npos) {
		char bytes[4096];
		ssize_t n = read(fd, bytes, sizeof bytes);
		if (n <= 0) {
			return false;
		}
		buffer.append(bytes, (size_t)n);
	}
	line = buffer.substr(0, end);
	buffer.erase(0, end + 1);
	return true;
}

static bool write_line(int fd, const std::string &line) {
	std::string bytes = line + "\n";
	return write(fd, bytes.data(), bytes.size()) == (ssize_t)bytes.size();
}

// ---- the server

static std::mutex lock;
static std::map<std::string, json> store;

static json answer(const json &request) {
	const std::string key = request["key"];
	const std::lock_guard<std::mutex> guard(lock);
	if (request["method"] == "put") {
		store[key] = request["value"];
		return {{"id", request["id"]}, {"size", store.size()}};
	}
	auto found = store.find(key);
	return {{"id", request["id"]}, {"value", found == store.end() ? json() : found->second}};
}

static void serve(int fd) {
	std::string buffer, line;
	while (read_line(fd, buffer, line) && write_line(fd, answer(json::parse(line)).dump())) {}
	close(fd);
}

// ---- the clients, who make no JSON of their own

static void ask(sockaddr_in address, long n, int number) {
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (sockaddr *)&address, sizeof address) != 0) {
		_exit(1);
	}
	std::string buffer, line;
	for (long i = 0; i < n; i++) {
		std::string key = std::to_string((i * 7919 + number) % KEYS);
		std::string id = std::to_string(i);
		bool puts = i % 2 == 0;
		std::string request = "{\"id\":" + id + ",\"key\":\"item " + key + "\",\"method\":\"" +
				(puts ? "put\",\"value\":{\"name\":\"a thing with a name\",\"tags\":[\"one\",\"two\"],"
						"\"at\":[1.5,2.25," +
										id + "]}}"
					  : "get\"}");
		if (!write_line(fd, request) || !read_line(fd, buffer, line)) {
			_exit(1);
		}
	}
	close(fd);
}

static void run_clients(sockaddr_in address, long n) {
	std::vector<std::thread> threads;
	for (int i = 0; i < CLIENTS; i++) {
		threads.emplace_back(ask, address, n / CLIENTS, i);
	}
	for (auto &thread : threads) {
		thread.join();
	}
	_exit(0);
}

int main(int argc, char **argv) {
	long n = argc > 1 ? atol(argv[1]) : 100000;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	sockaddr_in address = {};
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socklen_t size = sizeof address;
	if (bind(fd, (sockaddr *)&address, size) != 0 || listen(fd, CLIENTS) != 0 ||
			getsockname(fd, (sockaddr *)&address, &size) != 0) {
		return 1;
	}
	pid_t clients = fork();
	if (clients == 0) {
		run_clients(address, n);
	}
	std::vector<std::thread> threads;
	for (int i = 0; i < CLIENTS; i++) {
		threads.emplace_back(serve, accept(fd, nullptr, nullptr));
	}
	for (auto &thread : threads) {
		thread.join();
	}
	int status = 1;
	waitpid(clients, &status, 0);
	return status == 0 ? 0 : 1;
}
