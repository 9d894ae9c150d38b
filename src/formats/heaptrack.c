// SPDX-License-Identifier: MIT
/* The lines of KDE heaptrack's files, parsed and written by a table of letters. */
#include "formats/heaptrack.h"

/** The fields of a line, by letter. */
enum text_kind { TEXT_NONE, TEXT_LINE, TEXT_SIZED, TEXT_WORD };

struct line_kind {
	uint8_t is_known;
	uint8_t text;        // enum text_kind, in format 3
	uint8_t least, most; // numbers; most 255: any
};

static const struct line_kind kinds[128] = {
		['v'] = {1, TEXT_NONE, 1, 2},
		['x'] = {1, TEXT_SIZED, 0, 0},
		['X'] = {1, TEXT_LINE, 0, 0},
		['I'] = {1, TEXT_NONE, 2, 2},
		['S'] = {1, TEXT_SIZED, 0, 0},
		['A'] = {1, TEXT_NONE, 0, 0},
		['m'] = {1, TEXT_WORD, 0, 255},
		['s'] = {1, TEXT_SIZED, 0, 0},
		['i'] = {1, TEXT_NONE, 1, 255},
		['t'] = {1, TEXT_NONE, 2, 2},
		['a'] = {1, TEXT_NONE, 2, 2},
		['+'] = {1, TEXT_NONE, 1, 3},
		['-'] = {1, TEXT_NONE, 1, 1},
		['c'] = {1, TEXT_NONE, 1, 1},
		['R'] = {1, TEXT_NONE, 1, 1},
};

static struct line_kind kind_of(uint8_t letter) {
	return letter < 128 ? kinds[letter] : (struct line_kind){0};
}

// ---- reading

/** The digit's value + 1, or 0. A table, since branches would be unpredictable. */
static const uint8_t digits[256] =
		{['0'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ['a'] = 11, 12, 13, 14, 15, 16};

/** Negative: not a digit. */
static inline int digit_of(uint8_t c) {
	return digits[c] - 1;
}

/** Read a number up to a space or the end; *at moves after the space. False: none. */
static inline bool read_number(const uint8_t **at, const uint8_t *end, uint64_t *out) {
	const uint8_t *p = *at;
	uint64_t v = 0;
	int digit;
	while (p < end && (digit = digit_of(*p)) >= 0) {
		v = v << 4 | (uint64_t)digit;
		p++;
	}
	if (p == *at || p - *at > 16 || (p < end && *p != ' ')) {
		return false;
	}
	*at = p < end ? p + 1 : p;
	*out = v;
	return true;
}

static bool read_numbers(struct heaptrack_reader *r, const uint8_t *at, const uint8_t *end) {
	r->numbers.n = 0;
	while (at < end) {
		(void)vec_reserve(&r->numbers, 1);
		if (!read_number(&at, end, &r->numbers.items[r->numbers.n++])) {
			return false;
		}
	}
	return true;
}

/** The text of a line: after its length, or if that does not match, all of it. */
static struct slice read_line_text(const uint8_t *at, const uint8_t *end) {
	const uint8_t *p = at;
	uint64_t size;
	at = read_number(&p, end, &size) && size == (uint64_t)(end - p) ? p : at;
	return slice_of(at, (size_t)(end - at));
}

/** A text followed by numbers; *at moves after it. */
static struct slice read_word(const uint8_t **at, const uint8_t *end) {
	const uint8_t *p = *at;
	uint64_t size;
	if (!read_number(&p, end, &size) || size > (uint64_t)(end - p) ||
			(size < (uint64_t)(end - p) && p[size] != ' ')) {
		p = *at;
		const uint8_t *space = memchr(p, ' ', (size_t)(end - p));
		size = (uint64_t)((space ? space : end) - p);
	}
	*at = p + size < end ? p + size + 1 : end;
	return slice_of(p, size);
}

static bool take_version(struct heaptrack_reader *r) {
	enum { BEFORE_1_2_0 = 0x10200 }; // its version before the release, without a format
	enum { OURS = 0xffff };          // docs/trace-format.md: the note
	uint64_t program = r->numbers.items[0];
	uint64_t format = r->numbers.n > 1 ? r->numbers.items[1] : program == BEFORE_1_2_0;
	if (format == OURS) {
		return err_unsupported(r->err,
				"what a recording of heaptrack unpacks to: open the file itself, as it is");
	}
	if (format > HEAPTRACK_FORMAT) {
		return err_unsupported(r->err,
				"KDE heaptrack format %" PRIu64 " is newer than the supported %d", format,
				HEAPTRACK_FORMAT);
	}
	r->format = (unsigned)format;
	r->program = (unsigned)program;
	return true;
}

static bool read_line(struct heaptrack_reader *r, const uint8_t *line, size_t size) {
	r->n_lines++;
	struct line_kind kind = size ? kind_of(line[0]) : (struct line_kind){0};
	bool is_record = kind.is_known && (size < 2 || line[1] == ' ');
	if (!is_record) {
		return true;
	}
	const uint8_t *end = line + size;
	const uint8_t *at = size > 2 ? line + 2 : end;
	struct heaptrack_record record = {.kind = (char)line[0]};
	if (kind.text == TEXT_LINE) {
		record.text = slice_of(at, (size_t)(end - at));
		at = end;
	} else if (kind.text == TEXT_SIZED) {
		record.text = read_line_text(at, end);
		at = end;
	} else if (kind.text == TEXT_WORD) {
		record.text = read_word(&at, end);
	}
	bool is_good = read_numbers(r, at, end) && r->numbers.n >= kind.least &&
			(kind.most == 255 || r->numbers.n <= kind.most);
	if (!is_good) {
		record.is_bad = true;
		r->n_bad++;
	} else {
		record.numbers = r->numbers.items;
		record.n = r->numbers.n;
	}
	return (record.kind != 'v' || !is_good || take_version(r)) && r->each(r->user, &record, r->err);
}

bool heaptrack_is_head(struct slice head) {
	// All that KDE's interpreter writes without input, for example from programs that end by _exit
	static const char nothing[] = "\n# strings: 0\n# ips: 0\n";
	if (slice_is(head, nothing)) {
		return true;
	}
	const uint8_t *end = head.size ? memchr(head.data, '\n', head.size) : NULL;
	const uint8_t *at = head.data + 2;
	if (!end || end - head.data < 3 || head.data[0] != 'v' || head.data[1] != ' ') {
		return false;
	}
	uint64_t number;
	return EVERY(at < end, read_number(&at, end, &number));
}

/** The rest of a line begun in earlier bytes. *used: its bytes in this portion. */
static bool read_rest(struct heaptrack_reader *r, struct slice bytes, size_t *used) {
	const uint8_t *newline = bytes.size ? memchr(bytes.data, '\n', bytes.size) : NULL;
	*used = newline ? (size_t)(newline - bytes.data) : bytes.size;
	if (r->rest.size + *used > HEAPTRACK_LINE_MAX) {
		return err_format(r->err, "line %" PRIu64 " is longer than a line can be", r->n_lines + 1);
	}
	buffer_bytes(&r->rest, bytes.data, *used);
	if (!newline) {
		return true;
	}
	++*used;
	bool ok = read_line(r, r->rest.data, r->rest.size);
	buffer_clear(&r->rest);
	return ok;
}

// Nearly all lines, "+ number" or "- number", are parsed as they come and passed on in batches

enum { EVENTS_MOST = 512, DIGITS_AT = 2, DIGITS_MOST = 16 };

/** The size of an event at `p`, or 0. Requires room for the longest one. */
static inline size_t read_event(const uint8_t *p, struct heaptrack_event *out) {
	if ((p[0] != '+' && p[0] != '-') || p[1] != ' ') {
		return 0;
	}
	uint64_t v = 0;
	size_t at = DIGITS_AT;
	for (int digit; at < DIGITS_AT + DIGITS_MOST && (digit = digit_of(p[at])) >= 0; at++) {
		v = v << 4 | (uint64_t)digit;
	}
	*out = (struct heaptrack_event){v, p[0] == '-'};
	return at > DIGITS_AT && p[at] == '\n' ? at + 1 : 0;
}

static bool give_events(const struct heaptrack_reader *r, const struct heaptrack_event *events,
		size_t n) {
	if (r->events) {
		return n == 0 || r->events(r->user, events, n, r->err);
	}
	for (size_t i = 0; i < n; i++) {
		struct heaptrack_record record = {
				.kind = events[i].is_free ? '-' : '+',
				.numbers = &events[i].number,
				.n = 1,
		};
		if (!r->each(r->user, &record, r->err)) {
			return false;
		}
	}
	return true;
}

/** Read events from `bytes`, up to a batch. *used: their bytes. */
static bool read_events(struct heaptrack_reader *r, struct slice bytes, size_t *used) {
	enum { EVENT_BYTES = DIGITS_AT + DIGITS_MOST + 1 };
	struct heaptrack_event events[EVENTS_MOST];
	size_t n = 0, at = 0;
	while (n < EVENTS_MOST && bytes.size - at >= EVENT_BYTES) {
		size_t size = read_event(bytes.data + at, &events[n]);
		if (size == 0) {
			break;
		}
		at += size;
		n++;
	}
	r->n_lines += n;
	*used = at;
	return give_events(r, events, n);
}

/** Read one line. *used: its bytes, or all if it is incomplete. */
static bool read_other(struct heaptrack_reader *r, struct slice bytes, size_t *used) {
	const uint8_t *newline = r->rest.size ? NULL : memchr(bytes.data, '\n', bytes.size);
	if (!newline) {
		return read_rest(r, bytes, used);
	}
	size_t size = (size_t)(newline - bytes.data);
	*used = size + 1;
	return read_line(r, bytes.data, size);
}

bool heaptrack_read(struct heaptrack_reader *r, struct slice bytes, heaptrack_each *each,
		void *user, struct err *err) {
	r->each = each;
	r->user = user;
	r->err = err;
	for (size_t used = 0; bytes.size > 0; bytes = slice_from(bytes, used), used = 0) {
		if ((r->rest.size == 0 && !read_events(r, bytes, &used)) ||
				(used == 0 && !read_other(r, bytes, &used))) {
			return false;
		}
	}
	return true;
}

void heaptrack_reader_finish(struct heaptrack_reader *r) {
	buffer_finish(&r->rest);
	vec_finish(&r->numbers);
}

// ---- writing

static void write_number(struct buffer *out, uint64_t v) {
	static const char letters[] = "0123456789abcdef";
	char text[16];
	size_t at = sizeof text;
	do {
		text[--at] = letters[v & 15];
		v >>= 4;
	} while (v);
	buffer_bytes(out, text + at, sizeof text - at);
}

static void write_text(struct buffer *out, struct slice text) {
	uint8_t *room = buffer_room(out, text.size);
	for (size_t i = 0; room && i < text.size; i++) {
		bool is_plain = text.data[i] != '\n' && text.data[i] != '\0';
		room[i] = is_plain ? text.data[i] : ' ';
	}
	out->size += room ? text.size : 0;
}

void heaptrack_write(struct buffer *out, char kind, struct slice text, const uint64_t *numbers,
		size_t n) {
	enum text_kind shape = kind_of((uint8_t)kind).text;
	buffer_u8(out, (uint8_t)kind);
	if (shape == TEXT_SIZED || shape == TEXT_WORD) {
		buffer_u8(out, ' ');
		write_number(out, text.size);
	}
	if (shape != TEXT_NONE) {
		buffer_u8(out, ' ');
		write_text(out, text);
	}
	for (size_t i = 0; i < n; i++) {
		buffer_u8(out, ' ');
		write_number(out, numbers[i]);
	}
	buffer_u8(out, '\n');
}
