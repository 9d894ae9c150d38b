// SPDX-License-Identifier: MIT
/* May a process be attached to? Each reason against it has a message that says what helps. */
#include "injector/target/target.h"
#include "machine.h"

enum { STATUS_BYTES = 4096 };

static bool read_status(char *status, pid_t pid) {
	return process_read(pid, "status", status, STATUS_BYTES) > 0;
}

static unsigned long number(const char *status, const char *name) {
	return process_status_number(status, name, 10);
}

#define refuse(err, ...) err_unsupported(err, __VA_ARGS__)

// ---- the process as such

static bool is_a_process(pid_t pid, const char *s, struct err *err) {
	unsigned long group = number(s, "Tgid");
	if (group != (unsigned long)pid) {
		return refuse(err, "%d is a thread of process %lu; use heaptrack -p %lu", (int)pid, group,
				group);
	}
	if (pid == getpid()) {
		return refuse(err, "%d is heaptrack itself", (int)pid);
	}
	if (strstr(s, "\nState:\tZ")) {
		return refuse(err, "process %d has ended and is a zombie", (int)pid);
	}
	return strstr(s, "\nVmSize:") || refuse(err, "%d is a kernel thread", (int)pid);
}

/** A killed heaptrack stays the tracer until the kernel is done with it: wait for that. */
static bool is_not_traced(pid_t pid, char *s, struct err *err) {
	enum { NAP_US = 20000, NAPS = 100 };
	for (unsigned n_naps = 0;; n_naps++) {
		char name[32] = "?"; // it is gone
		unsigned long tracer = number(s, "TracerPid");
		if (tracer == 0 || tracer == (unsigned long)getpid()) {
			return true;
		}
		bool may_be_dying = !process_thread_name((pid_t)tracer, (pid_t)tracer, name, sizeof name) ||
				strcmp(name, "heaptrack") == 0;
		if (n_naps == NAPS || !may_be_dying || !read_status(s, pid)) {
			return refuse(err,
					"process %d is already traced by process %lu (%s); stop that one first",
					(int)pid, tracer, name);
		}
		(void)usleep(NAP_US);
	}
}

/** What its filters allow shows only once it is stopped. */
bool injector_asks_filters(pid_t pid, bool *has_filter, struct err *err) {
	enum { STRICT = 1 };
	char s[STATUS_BYTES] = "";
	(void)read_status(s, pid);
	unsigned long mode = number(s, "Seccomp");
	// In a container heaptrack has the same filters as the programs, which may do what it may
	char own[STATUS_BYTES];
	bool shares_ours = mode > STRICT && read_status(own, 0) && number(own, "Seccomp_filters") > 0 &&
			number(own, "Seccomp_filters") == number(s, "Seccomp_filters");
	*has_filter = mode > STRICT && !shares_ours;
	return mode != STRICT ||
			refuse(err,
					"process %d is in a sandbox (seccomp strict mode): any system call would "
					"kill it; start it under heaptrack, or without the sandbox",
					(int)pid);
}

// ---- rights

/** `pid` 0: any process of this user. */
static bool explain_yama(pid_t pid, struct err *err) {
	char text[16] = "0";
	(void)file_read_small("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text);
	int scope = atoi(text);
	if (scope == 3) {
		return refuse(err,
				"this system forbids attaching to any process until it is rebooted "
				"(kernel.yama.ptrace_scope is 3); start the program under heaptrack");
	}
	if (scope > 0 && !process_may_trace_all()) {
		char which[24] = "PID";
		(void)(pid != 0 && snprintf(which, sizeof which, "%d", (int)pid) > 0);
		return refuse(err,
				"only root may attach to process %s (kernel.yama.ptrace_scope is %d); use sudo "
				"heaptrack -p %s, or start the program under heaptrack, or sudo sysctl "
				"kernel.yama.ptrace_scope=0",
				which, scope, which);
	}
	return true;
}

bool injector_check_machine(bool is_running, struct err *err) {
	return machine_lacks() ? refuse(err, "%s", machine_lacks())
						   : !is_running || explain_yama(0, err);
}

/** A starting process is traced by us already, as yama allows a parent. */
static bool is_allowed(pid_t pid, const char *s, bool is_running, struct err *err) {
	unsigned long uid = number(s, "Uid");
	bool is_mighty = process_may_trace_all();
	if (uid != geteuid() && !is_mighty) {
		return refuse(err,
				"process %d belongs to user %lu; run heaptrack as that user, or with sudo "
				"(CAP_SYS_PTRACE)",
				(int)pid, uid);
	}
	if (is_running && !explain_yama(pid, err)) {
		return false;
	}
	if (access(PROCESS_PATH(pid, "mem"), R_OK | W_OK) == 0) {
		return true;
	}
	if (!is_mighty) {
		return refuse(err,
				"process %d is not dumpable (it is set-uid, or called prctl(PR_SET_DUMPABLE)); "
				"use sudo heaptrack -p %d",
				(int)pid, (int)pid);
	}
	return refuse(err,
			"cannot attach to process %d (%s) despite CAP_SYS_PTRACE; a security module or "
			"another user namespace forbids it",
			(int)pid, strerror(errno));
}

// ---- the program

static bool is_our_machine(pid_t pid, struct err *err) {
	char head[sizeof(Elf64_Ehdr) + 1] = "";
	Elf64_Ehdr header;
	if (process_read(pid, "exe", head, sizeof head) != sizeof header) {
		return true; // later checks say more
	}
	memcpy(&header, head, sizeof header);
	return (header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == MACHINE_ELF) ||
			refuse(err, "process %d is not a %s program; heaptrack cannot record it", (int)pid,
					MACHINE_NAME);
}

static bool is_free_of_others(pid_t pid, struct err *err) {
	static const struct {
		const char *mapped, *why;
	} others[] = {
			{"/libtsan.so", "runs with ThreadSanitizer, which replaces the allocator"},
			{"/libheaptrack_preload.so", "was started under heaptrack, which already records it"},
			{"/vgpreload_", "runs under valgrind"},
	};
	SCOPED(process_space) space;
	if (!process_space_read(&space, pid, err)) {
		return false;
	}
	EACH(m, space.mappings) {
		__auto_type other = FIND(o, others, N_OF(others), strstr(m->name, o->mapped));
		if (other) {
			return refuse(err, "process %d %s", (int)pid, other->why);
		}
	}
	return true;
}

bool injector_may_attach(struct injector *in, bool is_running, struct err *err) {
	pid_t pid = in->pid;
	char s[STATUS_BYTES];
	if (pid <= 0 || !read_status(s, pid)) {
		return refuse(err, "there is no process %d (in this pid namespace)", (int)pid);
	}
	if (!injector_check_machine(false, err) || !is_a_process(pid, s, err) ||
			!is_not_traced(pid, s, err) || !is_allowed(pid, s, is_running, err) ||
			!is_our_machine(pid, err) || !injector_asks_filters(pid, &in->has_filter, err) ||
			(is_running && !is_free_of_others(pid, err))) {
		return false;
	}
	pid_t inside = process_status_pid(s);
	in->pid_inside = inside ? inside : pid;
	return true;
}
