// SPDX-License-Identifier: MIT
/* The commands heaptrack --ctl and --look: recordings in progress, one line each on stdout. */
#include "collector/control.h"

#include "cli/options/table.h"
#include "engine/memory.h"

#define complain(...) say_problem("heaptrack", __VA_ARGS__)

struct asked {
	const char *line;
	const char *file; // only of the recording to this file; NULL: of all
	bool is_json;
	unsigned n_shown, n_failed;
};

#define AT(field) .at = offsetof(struct asked, field)
static const struct option_row rows[] = {
#include "cli/record/control.def"
};
static const struct option_table table = {
		.command = "heaptrack --ctl",
		.head = "Usage: heaptrack --ctl [PID|FILE] [status|look] [--json]\n"
				"\n"
				"Shows the recording in progress of the program with this PID, or to FILE; without "
				"either, all\nrecordings of this user. \"look\" looks at the program's memory and "
				"shows what RSS consists\nof; the look becomes part of the recording.\n",
		OPTION_ROWS(rows),
		.operands = OPERANDS_FILES,
};

// ---- what an answer says

struct status {
	uint64_t pid, live_bytes, live_blocks, events, lost_events, rss_bytes, file_bytes, duration_ns;
	struct buffer command, file, state, error; // file ends with a zero byte
	uint64_t time_ns, pause_ns;                // of a look
	uint64_t parts[REC_PARTS + 1];             // after the others, one unknown here
	uint64_t lost_bytes, lost_blocks;          // nothing pointed to them
	struct buffer ungraded;                    // or why that is unknown
	bool is_look;
};

/** A list of {"id": "mapped", "bytes": 1}. */
static void take_parts(struct json_reader *j, struct status *s) {
	s->is_look = true;
	JSON_EACH(j, '[') {
		size_t part = REC_PARTS;
		uint64_t bytes = 0;
		JSON_EACH(j, '{') {
			if (json_key_is(j, "id")) {
				struct slice id = json_take_text(j);
				__auto_type known = FIND(t, memory_part_texts, REC_PARTS, slice_is(id, t->id));
				part = known ? (size_t)(known - memory_part_texts) : REC_PARTS;
			} else if (json_key_is(j, "bytes")) {
				bytes = json_take_number(j);
			} else {
				json_skip(j);
			}
		}
		s->parts[part] = bytes;
	}
}

static void read_status(struct status *s, struct slice answer) {
	const struct {
		const char *name;
		uint64_t *number;
		struct buffer *text;
	} fields[] = {{"pid", &s->pid, NULL}, {"live_bytes", &s->live_bytes, NULL},
			{"live_blocks", &s->live_blocks, NULL}, {"events", &s->events, NULL},
			{"lost_events", &s->lost_events, NULL}, {"rss_bytes", &s->rss_bytes, NULL},
			{"file_bytes", &s->file_bytes, NULL}, {"duration_ns", &s->duration_ns, NULL},
			{"time_ns", &s->time_ns, NULL}, {"pause_ns", &s->pause_ns, NULL},
			{"unreachable_bytes", &s->lost_bytes, NULL},
			{"unreachable_blocks", &s->lost_blocks, NULL}, {"ungraded", NULL, &s->ungraded},
			{"file", NULL, &s->file}, {"state", NULL, &s->state}, {"error", NULL, &s->error}};
	SCOPED(json_reader) j;
	json_reader_init(&j, answer);
	JSON_EACH(&j, '{') {
		__auto_type field = FIND(f, fields, N_OF(fields), json_key_is(&j, f->name));
		if (field && field->text) {
			buffer_slice(field->text, json_take_text(&j));
		} else if (field) {
			*field->number = json_take_number(&j);
		} else if (json_key_is(&j, "command")) {
			JSON_EACH(&j, '[') {
				buffer_text(&s->command, s->command.size > 0 ? " " : "");
				buffer_slice(&s->command, json_take_text(&j));
			}
		} else if (json_key_is(&j, "parts")) {
			take_parts(&j, s);
		} else {
			json_skip(&j);
		}
	}
	buffer_u8(&s->file, 0);
}

static void put_status(const struct status *s) {
	SCOPED(buffer) command = {0};
	visible_put(&command, buffer_view(&s->command)); // one line, whatever it contains
	say(stdout,
			"%7u  %.*s for %s, heap %s in %s blocks, RSS %s, %s events, %s lost, file %s \"%s\": "
			"%.*s\n",
			(unsigned)s->pid, SLICE_ARG(buffer_view(&s->state)), HUMAN_DURATION(s->duration_ns),
			HUMAN_BYTES(s->live_bytes), HUMAN_COUNT(s->live_blocks), HUMAN_BYTES(s->rss_bytes),
			HUMAN_COUNT(s->events), HUMAN_COUNT(s->lost_events), HUMAN_BYTES(s->file_bytes),
			VISIBLE_NAME((const char *)s->file.data), SLICE_ARG(buffer_view(&command)));
}

/** Its parts, largest first. */
static void put_look(struct status *s) {
	say(stdout, "%7u  RSS %s after %s", (unsigned)s->pid, HUMAN_BYTES(s->rss_bytes),
			HUMAN_DURATION(s->time_ns));
	uint64_t *most;
	for (int n = 0; (most = MOST_OF(part, s->parts, REC_PARTS, *part)); n++) {
		say(stdout, "%s %s %s", n > 0 ? "," : ":", HUMAN_BYTES(*most),
				memory_part_texts[most - s->parts].words);
		*most = 0;
	}
	if (s->ungraded.size > 0) {
		say(stdout, "\n%7s  what points to live blocks is not known: %.*s", "",
				SLICE_ARG(buffer_view(&s->ungraded)));
	} else if (s->pause_ns > 0) {
		const char *lost = FORMAT(4 * HUMAN_MAX, "unreachable: %s (%s)",
				COUNTED(s->lost_blocks, "live block"), HUMAN_BYTES(s->lost_bytes));
		say(stdout, "\n%7s  %s; stopped for %s", "",
				s->lost_blocks > 0 ? lost : "no unreachable block was found",
				HUMAN_DURATION(s->pause_ns));
	}
	say(stdout, "\nWho owns them: heaptrack_print --memory \"%s\"\n",
			VISIBLE_NAME((const char *)s->file.data));
}

// ---- asking

static void show(struct asked *a, struct slice answer) {
	struct status s = {0};
	read_status(&s, answer);
	if (s.error.size > 0) {
		complain("%.*s", SLICE_ARG(buffer_view(&s.error)));
		a->n_failed++;
	} else if (!a->file || file_is_one(a->file, (const char *)s.file.data)) {
		a->n_shown++;
		if (a->is_json) {
			(void)fwrite(answer.data, 1, answer.size, stdout);
		} else if (s.is_look) {
			put_look(&s);
		} else {
			put_status(&s);
		}
	}
	CALL_FOR(buffer_finish, &s, command, file, state, error, ungraded);
}

static bool ask_one(struct asked *a, const struct control_found *at, struct err *err) {
	SCOPED(buffer) answer = {0};
	bool ok = control_ask(at, a->line, &answer, err);
	if (ok) {
		show(a, buffer_view(&answer));
	}
	return ok;
}

static void ask_all(struct asked *a) {
	SCOPED_BY(vec_release) struct control_list list = {0};
	control_find_all(&list);
	EACH(at, list) {
		struct err why = {0};
		if (!ask_one(a, at, &why)) {
			complain("process %d: %s", (int)at->pid, why.text);
			a->n_failed += why.code != ERR_NOT_FOUND;
		}
	}
}

static bool ask_process(struct asked *a, pid_t pid, struct err *err) {
	SCOPED_BY(vec_release) struct control_list list = {0};
	struct err why = {0}; // nobody listening at a guessed name says nothing
	control_find(&list, pid);
	EACH_WHILE(at, list, a->n_shown + a->n_failed == 0) {
		struct err now = {0};
		bool has_answered = ask_one(a, at, &now);
		if (!has_answered && why.code == ERR_NONE && (now.code != ERR_NOT_FOUND || at->is_own)) {
			why = now;
		}
	}
	return a->n_shown + a->n_failed > 0 ||
			(why.code == ERR_NONE ? err_not_found(err, "process %d is not being recorded", (int)pid)
								  : err_set(err, why.code, "process %d: %s", (int)pid, why.text));
}

// ---- the words

/** All words but the first, if that names the recording, are one line. */
static bool take_words(struct asked *a, pid_t *pid, int n, char **words, struct buffer *line,
		struct err *err) {
	enum control_command command;
	if (n > 0 && control_command(slice_of_text(words[0])) == CONTROL_COMMANDS) {
		uint64_t number;
		*pid = option_number(words[0], INT32_MAX, &number) ? (pid_t)number : 0;
		bool is_file = *pid == 0 && access(words[0], F_OK) == 0;
		a->file = is_file ? words[0] : NULL;
		if (*pid == 0 && !is_file && n > 1) {
			return err_usage(err, "--ctl: \"%s\" is neither a process ID nor a file", words[0]);
		}
		int n_taken = *pid != 0 || is_file;
		n -= n_taken;
		words += n_taken;
	}
	for (int i = 0; i < n; i++) {
		buffer_printf(line, "%s%s", i > 0 ? " " : "", words[i]);
	}
	buffer_text(line, n == 0 ? "status" : "");
	struct slice text = buffer_view(line);
	buffer_u8(line, 0);
	a->line = (const char *)line->data;
	return control_request(text, &command, err);
}

int cli_control(int argc, char **argv) {
	struct err err = {0};
	struct asked a = {0};
	SCOPED(buffer) line = {0};
	pid_t pid = 0;
	int at;
	if (!options_parse(&table, &a, argc, argv, &at, &err)) {
		complain("%s", err.text);
		return EXIT_FAILURE;
	}
	bool ok = take_words(&a, &pid, argc - at, argv + at, &line, &err) &&
			(pid != 0 ? ask_process(&a, pid, &err) : (ask_all(&a), true)) &&
			(!a.file || a.n_shown > 0 ||
					err_not_found(&err, "this user has no recording to \"%s\" in progress",
							a.file));
	if (!ok) {
		complain("%s", err.text);
	} else if (a.n_shown + a.n_failed == 0 && !a.is_json) {
		say(stdout, "No recordings in progress.\n");
	}
	return ok && a.n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool cli_look(int pid, int *status) {
	struct asked a = {.line = "look"};
	struct err err = {0};
	bool is_recorded = ask_process(&a, pid, &err) || err.code != ERR_NOT_FOUND;
	if (is_recorded && err.code != ERR_NONE) {
		complain("%s", err.text);
	}
	*status = err.code != ERR_NONE || a.n_failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	return is_recorded;
}
