// SPDX-License-Identifier: MIT
/* Asks the kernel about terminals. */
#include "sys/terminal.h"

#include "sys/file.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool terminal_is(int fd) {
	return isatty(fd) == 1;
}

unsigned terminal_columns(int fd) {
	struct winsize size;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

unsigned terminal_columns_behind(int fd, unsigned most) {
	struct stat status;
	bool is_pipe = fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
	unsigned columns = terminal_columns(is_pipe ? STDERR_FILENO : fd);
	return is_pipe && columns >= most ? 0 : columns;
}

unsigned terminal_lines(int fd) {
	struct winsize size;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

bool terminal_controls_us(bool in_foreground) {
	CLOSED int tty = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (tty < 0) {
		return false;
	}
	bool is_foreground = tcgetpgrp(tty) == getpgrp();
	return !in_foreground || is_foreground;
}
