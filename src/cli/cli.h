// SPDX-License-Identifier: MIT
#pragma once
/**
 * The four commands. Each takes its own name and arguments, prints its result on stdout and what is
 * wrong on stderr, and returns the exit status. Only this folder prints.
 */

#include "session/session.h"
#include "sys/sys.h"
#include "sys/terminal.h"
#include "web/page.h"

/** Behind the command's name in what --version prints; KDE's heaptrack ends with its number. */
#define CLI_VERSION HEAPTRACK_VERSION " (heaptrack-c)"

int cli_heaptrack(int argc, char **argv);
int cli_print(int argc, char **argv);
int cli_gui(int argc, char **argv);
int cli_interpret(int argc, char **argv); // the filter of that name

// ---- what `heaptrack` does for some of its options; each gives the exit status, too

/** `heaptrack --ctl`; argv[0] is that word, what follows is which recording, and the command. */
int cli_control(int argc, char **argv);

/** A look at the memory of a process that is being recorded. False: it is not. */
bool cli_look(int pid, int *status);

/** `--check`: what can be recorded on this machine, or of process `pid` if it is not 0. */
int cli_check(int pid, uint64_t max_pause_ns, bool is_json);

/**
 * What the recorder library starts when it is loaded without `heaptrack` around it: records process
 * `pid`, which is told through `fd`, and writes the raw stream to where DUMP_HEAPTRACK_OUTPUT says.
 */
int cli_beside(int pid, int fd);

/**
 * `heaptrack --analyze WORDS...`: the page, if a browser can be opened; on a terminal without one
 * (over ssh, in a container), the text report and the commands for the page; into a pipe or a file,
 * only the text report. --web among the arguments forces the page, --text the report. No server is
 * started unless the user asked for it or can see it.
 */
int cli_analyze(int n, char **words);

// ---- all output for people
//
// It goes through these functions, so that names of functions and files cannot contain terminal
// control sequences (base/visible.h). Help texts and figures need not.

/** Our own lines with names in them. */
void say(FILE *to, const char *fmt, ...) ATTR_PRINTF(2, 3);

/** The command that copies a file of this machine to the one that the user came from. */
void say_copy(FILE *to, const char *before, const char *path);

/** "WHO: SENTENCE", one line on stderr whatever is in it. */
void say_problem(const char *who, const char *fmt, ...) ATTR_PRINTF(2, 3);

/** A text of many lines. False: it could not be written, errno says why. */
bool say_text(FILE *to, struct slice text);
