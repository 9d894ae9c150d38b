// SPDX-License-Identifier: MIT
#include "base/text.h"
#include "sys/cgroup.h"
#include "sys/file.h"
#include "sys/listen.h"
#include "sys/process.h"
#include "sys/signals.h"
#include "sys/spawn.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void parents_are_made(void **state) {
	(void)state;
	char folder[] = "/tmp/test-sys-XXXXXX", path[128], command[160];
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/a b/c/file", folder);
	assert_true(file_make_parents(path, (unsigned)-1, (unsigned)-1, NULL));
	assert_true(file_make_parents(path, (unsigned)-1, (unsigned)-1, NULL)); // again
	assert_int_not_equal(access(path, F_OK), 0);
	*strrchr(path, '/') = 0;
	assert_int_equal(access(path, W_OK), 0);
	(void)snprintf(path, sizeof path, "%s/file", folder);
	(void)fclose(fopen(path, "w"));
	strcat(path, "/x/y");
	struct err err = {0};
	assert_false(file_make_parents(path, (unsigned)-1, (unsigned)-1, &err));
	assert_non_null(strstr(err.text, "/file"));
	(void)snprintf(command, sizeof command, "rm -r '%s'", folder);
	assert_int_equal(system(command), 0);
}

static void small_files(void **state) {
	(void)state;
	char text[8];
	assert_int_equal(file_read_small("/no/such", text, sizeof text), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(file_read_small("/proc/self/stat", text, sizeof text), 7);
	assert_int_equal(text[7], 0);
}

static void write_file(const char *folder, const char *name, const char *text) {
	char path[256];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	(void)fputs(text, f);
	(void)fclose(f);
}

static struct cgroup_memory group_memory_of(const struct cgroup *group) {
	struct cgroup_memory m;
	assert_true(cgroup_memory(group, &m));
	return m;
}

#define GROUPS "/tmp/test-cgroup-XXXXXX"

/** A folder of groups, and in it `below`/a, which is `folder`, and that one's own group b. */
static void make_group(char *root, char folder[static 128], const char *below) {
	char command[160];
	assert_non_null(mkdtemp(root));
	(void)snprintf(folder, 128, "%s%s/a", root, below);
	(void)snprintf(command, sizeof command, "mkdir -p '%s/b'", folder);
	assert_int_equal(system(command), 0);
}

/** As version 1 writes them, and version 2 before Linux 5.18 and since. */
static void uses_of_both_versions(void **state) {
	(void)state;
	static const struct {
		const char *membership, *folder, *limit, *files[12];
		struct cgroup_memory m;
	} groups[] = {
			{"4:memory:/a\n", "/memory", "memory.limit_in_bytes",
					{"memory.usage_in_bytes", "101650432\n", "memory.failcnt", "217\n",
							"memory.kmem.usage_in_bytes", "1052672\n", "memory.stat",
							"cache 0\nrss 0\nshmem 0\ninactive_file 0\ntotal_cache 10223616\n"
							"total_rss 90226688\ntotal_rss_huge 0\ntotal_shmem 9142272\n"
							"total_swap 4096\ntotal_inactive_file 565248\n"},
					{101650432, 90226688, 4096, 10223616, 9142272, 565248, 1052672, 217}},
			{"0::/a\n", "", "memory.max",
					{"memory.current", "100663296\n", "memory.swap.current", "8192\n",
							"memory.events", "low 0\nhigh 0\nmax 31\noom 1\noom_kill 1\n",
							"memory.stat",
							"anon 81977344\nfile 17977344\nkernel_stack 49152\npercpu 0\nsock 4096\n"
							"shmem 0\nfile_mapped 0\ninactive_file 17842176\nslab 421376\n"},
					{100663296, 81977344, 8192, 17977344, 0, 17842176, 474624, 31}},
			{"0::/a\n", "", "memory.max",
					{"memory.current", "100663296\n", "memory.events", "low 0\nmax 2\n",
							"memory.stat",
							"anon 81977344\nfile 17977344\nkernel 675840\nkernel_stack 49152\n"
							"shmem 135168\ninactive_file 17842176\nslab 421376\n"},
					{100663296, 81977344, 0, 17977344, 135168, 17842176, 675840, 2}},
	};
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
		char root[] = GROUPS, folder[128], command[160], text[128];
		make_group(root, folder, groups[i].folder);
		struct cgroup group;
		strcpy(text, groups[i].membership);
		assert_true(cgroup_parse(&group, text, root, "memory"));
		struct cgroup_memory m;
		assert_int_equal(cgroup_memory_limit(&group), 0);
		assert_false(cgroup_memory(&group, &m)); // nothing limits it
		write_file(folder, groups[i].limit, "104857600\n");
		for (size_t k = 0; groups[i].files[k]; k += 2) {
			write_file(folder, groups[i].files[k], groups[i].files[k + 1]);
		}
		assert_int_equal(cgroup_memory_limit(&group), 104857600);
		m = group_memory_of(&group);
		assert_memory_equal(&m, &groups[i].m, sizeof m);
		(void)snprintf(command, sizeof command, "rm -r '%s'", root);
		assert_int_equal(system(command), 0);
		assert_false(cgroup_memory(&group, &m));
	}
}

static void control_groups_of_both_versions(void **state) {
	(void)state;
	static const struct {
		const char *membership, *folder, *limit, *events, *text, *current, *stat;
		bool is_v2;
	} versions[] = {
			{"5:cpu:/x\n4:memory,other:/a/b\n0::/a\n", "/memory", "memory.limit_in_bytes",
					"memory.oom_control", "oom_kill_disable 1\nunder_oom 0\noom_kill 3\n",
					"memory.usage_in_bytes",
					"cache 1\ninactive_file 1\ntotal_cache 9\ntotal_inactive_file 2000000\n",
					false},
			{"5:cpu:/x\n0::/a/b\n", "", "memory.max", "memory.events",
					"low 9\noom 8\noom_group_kill 7\noom_kill 3\n", "memory.current",
					"anon 1\nworkingset_inactive_file 9\ninactive_file 2000000\n", true},
	};
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		char root[] = GROUPS, folder[128], command[160], text[128];
		make_group(root, folder, versions[i].folder);
		write_file(folder, versions[i].limit, "7000000\n");
		write_file(folder, versions[i].events, "oom_kill 100\n");
		struct cgroup group;
		uint64_t kills;
		strcpy(text, versions[i].membership);
		assert_true(cgroup_parse(&group, text, root, "memory"));
		assert_int_equal(group.is_v2, versions[i].is_v2);
		assert_int_equal(cgroup_memory_limit(&group), 7000000);
		assert_true(cgroup_memory_kills(&group, &kills)); // its own folder says nothing
		assert_int_equal(kills, 100);
		write_file(group.path, versions[i].limit, i == 0 ? "9223372036854771712" : "max\n");
		write_file(group.path, versions[i].events, versions[i].text);
		assert_int_equal(cgroup_memory_limit(&group), 7000000);
		assert_true(cgroup_memory_kills(&group, &kills));
		assert_int_equal(kills, 3);
		// Of the group whose limit it is
		write_file(group.path, versions[i].current, "1000\n");
		assert_int_equal(cgroup_memory_used(&group, 0), 0);
		write_file(folder, versions[i].current, "6000000\n");
		assert_int_equal(cgroup_memory_used(&group, 0), 6000000);
		write_file(folder, "memory.stat", versions[i].stat);
		assert_int_equal(cgroup_memory_used(&group, 5999999), 4000000);
		assert_int_equal(cgroup_memory_used(&group, 6000000), 0);
		assert_int_equal(group_memory_of(&group).limit_hits, 0);
		(void)snprintf(command, sizeof command, "rm -r '%s'", root);
		assert_int_equal(system(command), 0);
		assert_int_equal(cgroup_memory_limit(&group), 0);
		assert_false(cgroup_memory_kills(&group, &kills));
		assert_int_equal(cgroup_memory_used(&group, 0), 0);
	}
	struct cgroup none;
	char text[] = "3:cpu:/x\n";
	assert_false(cgroup_parse(&none, text, CGROUP_ROOT, "memory"));
}

static void quotas_of_both_versions(void **state) {
	(void)state;
	static const struct {
		const char *membership, *folder, *none[2], *inner[2], *outer[2], *names[2];
	} versions[] = {
			{"6:cpuset:/y\n5:cpu,cpuacct:/a/b\n4:memory:/x\n0::/x\n", "/cpu", {"-1\n", "100000\n"},
					{"350000\n", "100000\n"}, {"50000\n", "20000\n"},
					{"cpu.cfs_quota_us", "cpu.cfs_period_us"}},
			{"4:memory:/x\n0::/a/b\n", "", {"max 100000\n", ""}, {"350000 100000\n", ""},
					{"50000 20000\n", ""}, {"cpu.max", "cpu.max.burst"}},
	};
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		char root[] = GROUPS, folder[128], command[160], text[128];
		make_group(root, folder, versions[i].folder);
		struct cgroup group;
		strcpy(text, versions[i].membership);
		assert_true(cgroup_parse(&group, text, root, "cpu"));
		assert_true(cgroup_cores(&group) > 1000000);
		for (int k = 0; k < 2; k++) {
			write_file(group.path, versions[i].names[k], versions[i].none[k]);
		}
		assert_true(cgroup_cores(&group) > 1000000);
		for (int k = 0; k < 2; k++) {
			write_file(group.path, versions[i].names[k], versions[i].inner[k]);
		}
		assert_int_equal(cgroup_cores(&group), 3);
		for (int k = 0; k < 2; k++) {
			write_file(folder, versions[i].names[k], versions[i].outer[k]);
		}
		assert_int_equal(cgroup_cores(&group), 2);
		(void)snprintf(command, sizeof command, "rm -r '%s'", root);
		assert_int_equal(system(command), 0);
	}
}

static void ourselves_as_a_process(void **state) {
	(void)state;
	struct process_memory memory;
	struct process_usage usage;
	char text[256];
	assert_true(process_memory(getpid(), &memory));
	assert_true(memory.rss_bytes > 100 << 10 && memory.rss_bytes <= memory.peak_rss_bytes);
	assert_int_equal(memory.rss_bytes,
			memory.rss_anon_bytes + memory.rss_file_bytes + memory.rss_shmem_bytes);
	assert_int_equal(memory.n_threads, 1);
	assert_true(process_usage(getpid(), &usage));
	assert_int_equal(usage.parent, getppid());
	assert_int_equal(usage.state, 'R');
	assert_true(usage.minor_faults > 0);
	assert_true(process_link(getpid(), "exe", text, sizeof text));
	assert_string_equal(path_base_name(text), program_invocation_short_name);
	assert_true(process_thread_name(getpid(), getpid(), text, sizeof text));
	assert_memory_equal(text, program_invocation_short_name, strlen(text));
}

static bool is_listed(pid_t pid, pid_t after) {
	static pid_t pids[65536];
	size_t n = process_all(after, pids, sizeof pids / sizeof *pids);
	while (n > 0 && pids[n - 1] != pid) {
		n--;
	}
	return n > 0;
}

static void processes_after_another(void **state) {
	(void)state;
	pid_t begun[3];
	for (int i = 0; i < 3; i++) {
		begun[i] = fork();
		if (begun[i] == 0) {
			(void)pause();
			_exit(0);
		}
	}
	assert_true(is_listed(getpid(), 0));
	for (int i = 0; i < 3; i++) {
		assert_true(is_listed(begun[i], 0));
		for (int after = 0; after < 3; after++) {
			assert_int_equal(is_listed(begun[i], begun[after]), i > after);
		}
		assert_true(is_listed(begun[i], getpid()));
		assert_false(is_listed(getpid(), begun[i]));
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(kill(begun[i], SIGKILL), 0);
		assert_int_equal(waitpid(begun[i], NULL, 0), begun[i]);
	}
}

static void a_process_that_is_gone(void **state) {
	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		_exit(0);
	}
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	struct process_memory memory;
	struct process_usage usage;
	char text[64];
	assert_false(process_memory(pid, &memory)); // a zombie has none
	assert_true(process_usage(pid, &usage));
	assert_int_equal(usage.state, 'Z');
	pid_t children[8];
	assert_int_equal(process_children(getpid(), children, 8), 1);
	assert_int_equal(children[0], pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(process_usage(pid, &usage));
	assert_false(process_link(pid, "exe", text, sizeof text));
	assert_string_equal(text, "");
	assert_int_equal(process_children(getpid(), children, 8), 0);
}

// ---- spawn

static const char *spawned_output(const char *script, const struct signals_start *start,
		const char *variable, int *status) {
	static char out[256];
	int fds[2];
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)script, NULL};
	char *envp[] = {NULL, (char *)"B=2", NULL};
	struct spawn_program program = {"/bin/sh", argv, envp, 0, start};
	struct spawn s;
	int why, kept = dup(STDOUT_FILENO);
	assert_int_equal(pipe(fds), 0);
	(void)dup2(fds[1], STDOUT_FILENO);
	bool ok = spawn_fork(&s, &program, NULL);
	(void)dup2(kept, STDOUT_FILENO);
	(void)close(kept);
	(void)close(fds[1]);
	assert_true(ok);
	pid_t pid = s.pid;
	assert_true(spawn_exec(&s, variable, &why));
	size_t n = 0;
	ssize_t got;
	while ((got = read(fds[0], out + n, sizeof out - 1 - n)) > 0) {
		n += (size_t)got;
	}
	out[n] = 0;
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, status, 0), pid);
	return out;
}

static void a_program_in_two_steps(void **state) {
	(void)state;
	struct signals_start start;
	int status;
	signals_save(&start);
	assert_string_equal(spawned_output("echo $A $B; exit 3", &start, "A=1", &status), "1 2\n");
	assert_int_equal(WEXITSTATUS(status), 3);
}

static void what_cannot_be_run(void **state) {
	(void)state;
	struct signals_start start;
	signals_save(&start);
	char *argv[] = {(char *)"x", NULL}, *envp[] = {NULL, NULL};
	struct spawn s;
	int why = 0;
	struct spawn_program missing = {"/no/such", argv, envp, 0, &start};
	assert_true(spawn_fork(&s, &missing, NULL));
	assert_false(spawn_exec(&s, "A=1", &why));
	assert_int_equal(why, ENOENT);
	struct spawn_program folder = {"/tmp", argv, envp, 0, &start};
	assert_true(spawn_fork(&s, &folder, NULL));
	assert_false(spawn_exec(&s, "A=1", &why));
	assert_int_equal(why, EACCES);
	assert_true(spawn_fork(&s, &missing, NULL));
	spawn_cancel(&s);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // nobody is left
	assert_int_equal(errno, ECHILD);
}

// ---- signals

static bool next_within(int fd, int timeout_ms, struct signals_arrived *out) {
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, timeout_ms) > 0 && signals_next(fd, out);
}

// Runs in a process of its own: dispositions are changed for good
static int signals_in_child(void) {
	sigset_t none;
	(void)sigemptyset(&none);
	for (int i = 1; i < NSIG; i++) { // we may have been started in the background, or by nohup
		(void)signal(i, i == SIGINT ? SIG_IGN : SIG_DFL);
	}
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpgid(0, 0);
	struct signals_start start;
	signals_save(&start);
	int fd = signals_open(NULL);
	struct witness w;
	struct signals_arrived arrived;
	if (fd < 0 || !witness_start(&w)) {
		return 1;
	}
	while (next_within(fd, 0, &arrived)) { // SIGCHLD of what started the witness
	}
	for (int i = 0; i < 20; i++) {
		// To us alone, though it was ignored; then to all
		(void)kill(getpid(), SIGINT);
		if (!next_within(fd, 1000, &arrived) || arrived.signal != SIGINT || !arrived.is_sent ||
				arrived.sender != getpid() || witness_saw(&w, SIGINT)) {
			return 2;
		}
		(void)kill(0, SIGTERM);
		if (!next_within(fd, 1000, &arrived) || arrived.signal != SIGTERM ||
				!witness_saw(&w, SIGTERM)) {
			return 3;
		}
	}
	pid_t witness = w.pid;
	witness_stop(&w);
	for (int i = 0; i < 100 && kill(witness, 0) == 0; i++) {
		struct process_usage usage;
		if (process_usage(witness, &usage) && usage.state == 'Z') {
			break; // nobody reaps in this container
		}
		(void)usleep(10000);
	}
	struct process_usage usage;
	if (process_usage(witness, &usage) && usage.state != 'Z') {
		return 4;
	}
	int status;
	const char *masks =
			spawned_output("grep -E 'SigBlk|SigIgn' /proc/self/status | cut -f2 | tr '\\n' ' '",
					&start, "A=1", &status);
	unsigned long long blocked, ignored;
	if (sscanf(masks, "%llx %llx", &blocked, &ignored) != 2) {
		return 5;
	}
	// 32 and 33 belong to libc: who started us may ignore them, and nobody here can change that
	ignored &= ~(3ull << 31);
	return blocked == 0 && ignored == 1ull << (SIGINT - 1) ? 0 : 6;
}

static void signals_and_the_witness(void **state) {
	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		_exit(signals_in_child());
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

// ---- door

static void serve(void *user, int connection, const struct ucred *who) {
	assert_int_equal(who->pid, getpid());
	assert_int_equal(who->uid, getuid());
	if (*(int *)user >= 0) {
		(void)fd_send(connection, "", 1, *(int *)user, MSG_DONTWAIT);
	}
}

static int ask_door(const char *name, int door, int fd, bool answer) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path + 1, name);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	assert_int_equal(connect(s, (struct sockaddr *)&address, size), 0);
	fd = answer ? fd : -1;
	fd_door_serve(door, serve, &fd);
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof control};
	int received = -1;
	if (recvmsg(s, &message, 0) == 1 && CMSG_FIRSTHDR(&message)) {
		memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
	}
	(void)close(s);
	return received;
}

static void the_door_hands_out_a_descriptor(void **state) {
	(void)state;
	char name[64];
	(void)snprintf(name, sizeof name, "heaptrack-test-%d", (int)getpid());
	int door = listen_on_abstract(name);
	assert_true(door >= 0);
	assert_int_equal(listen_on_abstract(name), -1); // taken
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	int received = ask_door(name, door, fds[1], true);
	assert_true(received >= 0);
	assert_int_equal(write(received, "x", 1), 1);
	char byte;
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(ask_door(name, door, fds[1], false), -1);
	(void)close(received);
	(void)close(door);
}

static void a_socket_makes_way_only_when_nobody_listens(void **state) {
	(void)state;
	char path[64];
	(void)snprintf(path, sizeof path, "/tmp/heaptrack-test-%d.sock", (int)getpid());
	int first = listen_on_unix(path, NULL);
	assert_true(first >= 0);
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	int visitors[256], n = 0; // until the row is full: whoever listens may be busy
	while (n < 256 && (visitors[n] = connect_to_unix(path)) >= 0) {
		n++;
	}
	assert_true(n < 256);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(listen_on_unix(path, NULL), -1);
	struct ucred who;
	int inside = accept(first, NULL, NULL);
	assert_true(unix_peer(inside, &who));
	assert_true(who.pid == getpid() && who.uid == geteuid());
	for (int i = 0; i < n; i++) {
		(void)close(visitors[i]);
	}
	(void)close(inside);
	(void)close(first);
	int second = listen_on_unix(path, NULL); // the file is still there
	assert_true(second >= 0);
	(void)close(second);
	(void)unlink(path);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(parents_are_made),
			cmocka_unit_test(uses_of_both_versions),
			cmocka_unit_test(control_groups_of_both_versions),
			cmocka_unit_test(quotas_of_both_versions),
			cmocka_unit_test(small_files),
			cmocka_unit_test(ourselves_as_a_process),
			cmocka_unit_test(processes_after_another),
			cmocka_unit_test(a_process_that_is_gone),
			cmocka_unit_test(a_program_in_two_steps),
			cmocka_unit_test(what_cannot_be_run),
			cmocka_unit_test(signals_and_the_witness),
			cmocka_unit_test(the_door_hands_out_a_descriptor),
			cmocka_unit_test(a_socket_makes_way_only_when_nobody_listens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
