/* A tree of processes, each of which does what its part of a script says and counts it.
 *
 *   tree SCRIPT
 *
 *   aN      allocates N bytes and keeps them          tN  the same, and frees them at once
 *   d       frees the newest block that it holds, which may be its parent's
 *   rN      makes that block N bytes large
 *   f{...}  a child by fork does what is in braces; x{...}  one by fork and exec
 *   w       waits for all children                    sN  sleeps for N ms
 *   bN      waits until N processes have come here (not beyond an exec)
 *   gN      waits until the first process has got SIGUSR1 N times (not beyond an exec)
 *   k       kills itself                              qN  ends with that status
 *
 * Before it ends, each process writes a line of numbers: its pid, its parent's, its allocations, their
 * bytes, what it holds of its own and how many blocks, the most that it held of its own, what it had
 * inherited and how many blocks, and how many of these it freed or resized. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 4096 };

static struct {
	void *at;
	size_t bytes;
	int is_own;
} held[MOST];
static int n_held;
static size_t allocations, allocated, own, own_blocks, most, inherited, inherited_blocks,
		inherited_freed;
static _Atomic int *arrived; // and how often to go on
static const char *program;

static void say_and_end(int status, int is_killed) {
	char line[256];
	int n = snprintf(line, sizeof line, "%d %d %zu %zu %zu %zu %zu %zu %zu %zu\n", getpid(),
			getppid(), allocations, allocated, own, own_blocks, most, inherited, inherited_blocks,
			inherited_freed);
	if (write(1, line, (size_t)n) != n) {
		abort();
	}
	if (is_killed) {
		(void)kill(getpid(), SIGKILL);
	}
	_exit(status);
}

static void count(size_t bytes) {
	allocations++;
	allocated += bytes;
	own += bytes;
	own_blocks++;
	most = own > most ? own : most;
}

static void uncount(int i) {
	if (held[i].is_own) {
		own -= held[i].bytes;
		own_blocks--;
	} else {
		inherited_freed++;
	}
}

static void begin_child(void) {
	inherited = inherited_blocks = 0;
	for (int i = 0; i < n_held; i++) {
		held[i].is_own = 0;
		inherited += held[i].bytes;
		inherited_blocks++;
	}
	allocations = allocated = own = own_blocks = most = inherited_freed = 0;
}

static const char *end_of(const char *at) {
	for (int depth = 1; depth > 0; at++) {
		depth += (*at == '{') - (*at == '}');
	}
	return at;
}

static void run(const char *at, const char *end);

static const char *start(const char *at, int executes) {
	const char *end = end_of(at + 1);
	pid_t pid = fork();
	if (pid < 0) {
		abort();
	}
	if (pid == 0 && executes) {
		char script[1 << 16];
		memcpy(script, at + 1, (size_t)(end - at - 2));
		script[end - at - 2] = '\0';
		(void)execl(program, program, script, NULL);
		abort();
	}
	if (pid == 0) {
		begin_child();
		run(at + 1, end - 1);
		say_and_end(0, 0);
	}
	return end;
}

static void allocate(size_t bytes) {
	held[n_held].at = malloc(bytes);
	held[n_held].bytes = bytes;
	held[n_held++].is_own = 1;
	count(bytes);
}

static void resize(size_t bytes) {
	uncount(n_held - 1);
	held[n_held - 1].at = realloc(held[n_held - 1].at, bytes);
	held[n_held - 1].bytes = bytes;
	held[n_held - 1].is_own = 1;
	count(bytes);
}

static void release(void) {
	uncount(--n_held);
	free(held[n_held].at);
}

static void run(const char *at, const char *end) {
	while (at < end) {
		char what = *at++;
		char *behind;
		size_t n = strtoul(at, &behind, 10);
		at = behind;
		switch (what) {
		case 'a': allocate(n); break;
		case 't': allocate(n), release(); break;
		case 'd': release(); break;
		case 'r': resize(n); break;
		case 'f':
		case 'x': at = start(at, what == 'x'); break;
		case 'w':
			while (wait(NULL) > 0) {}
			break;
		case 's': usleep((useconds_t)n * 1000); break;
		case 'b':
			atomic_fetch_add(arrived, 1);
			while (atomic_load(arrived) < (int)n) {
				usleep(100);
			}
			break;
		case 'g':
			while (atomic_load(&arrived[1]) < (int)n) {
				usleep(1000);
			}
			break;
		case 'k': say_and_end(0, 1); break;
		case 'q': say_and_end((int)n, 0); break;
		default: abort();
		}
	}
}

static void go_on(int signal) {
	(void)signal;
	atomic_fetch_add(&arrived[1], 1);
}

int main(int argc, char **argv) {
	program = argv[0];
	arrived = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc != 2 || arrived == MAP_FAILED) {
		return 2;
	}
	(void)signal(SIGUSR1, go_on);
	run(argv[1], argv[1] + strlen(argv[1]));
	say_and_end(0, 0);
}
