// SPDX-License-Identifier: MIT
/* Queries terminals, and opens pages in a browser. */
#include "sys/terminal.h"

#include "sys/file.h"

#include <signal.h>
#include <sys/ioctl.h>

static struct winsize size_of(int fd) {
	struct winsize size;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size : (struct winsize){0};
}

unsigned terminal_columns(int fd) {
	return size_of(fd).ws_col;
}

unsigned terminal_columns_behind(int fd, unsigned most) {
	struct stat status;
	bool is_pipe = fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
	unsigned columns = terminal_columns(is_pipe ? STDERR_FILENO : fd);
	return is_pipe && columns >= most ? 0 : columns;
}

unsigned terminal_lines(int fd) {
	return size_of(fd).ws_row;
}

bool terminal_controls_us(bool in_foreground) {
	CLOSED int tty = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return tty >= 0 && (!in_foreground || tcgetpgrp(tty) == getpgrp());
}

// ---- opening a page in a browser, through a private file

static bool is_set(const char *name) {
	return environment_or(name, NULL);
}

bool browser_is_likely(void) {
	return is_set("WAYLAND_DISPLAY") || is_set("DISPLAY");
}

bool browser_is_remote(void) {
	return is_set("SSH_CONNECTION") || is_set("SSH_CLIENT") || is_set("SSH_TTY");
}

static bool write_page(const char *address, char file[4096], struct err *err) {
	const char *folder = environment_or("XDG_RUNTIME_DIR", TEMPORARY_FOLDER);
	int n = snprintf(file, 4096, "%s/heaptrack-XXXXXX.html", folder);
	int fd = n < 4096 ? mkostemps(file, 5, O_CLOEXEC) : -1; // 0600
	if (fd < 0) {
		return err_system(err, errno, "%s", folder);
	}
	bool ok = dprintf(fd,
					  "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" "
					  "content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0;url=%s\">"
					  "<title>heaptrack</title><a href=\"%s\">Open the recording</a>\n",
					  address, address) > 0;
	ok = close(fd) == 0 && ok;
	return ok || err_system(err, errno, "%s", file);
}

/** The child: its output is discarded, its signals are reset. */
static _Noreturn void become(const char *program, char *file) {
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= STDERR_FILENO && nowhere >= 0; fd++) {
		(void)dup2(nowhere, fd);
	}
	sigset_t none;
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execlp(program, program, file, (char *)NULL);
	_exit(127);
}

bool browser_open(const char *address, char file[4096], struct err *err) {
	if (!write_page(address, file, err)) {
		return false;
	}
	pid_t pid = fork();
	if (pid == 0) {
		become(environment_or("BROWSER", "xdg-open"), file);
	}
	if (pid < 0) {
		int e = errno;
		(void)unlink(file);
		return err_system(err, e, "cannot start a process");
	}
	return true;
}
