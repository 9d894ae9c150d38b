// SPDX-License-Identifier: MIT
// Who is let in: guard is all that looks at a request
#include "server/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define WELCOME ""
#define METHOD  "method not allowed; use GET\n"
#define HOST    "the request names another host\n"
#define ORIGIN  "the request comes from another page\n"
#define STRANGER \
	"not authorized; open the address that heaptrack_gui printed (it contains a token)\n"

static struct guard guard;
static char newcomer[128]; // the line for it

static int make_guard(void **state) {
	(void)state;
	bool ok = guard_init(&guard, NULL);
	(void)snprintf(newcomer, sizeof newcomer, "%s=%s; HttpOnly; SameSite=Strict; Path=/",
			guard.name, guard.token);
	return ok ? 0 : -1;
}

/** What the answer says: of why not, nothing to who is known, or its cookie to a newcomer. */
static const char *answer_to(const struct http_request *q) {
	static struct http_answer a;
	a = (struct http_answer){.status = 200};
	bool ok = guard_lets_in(&guard, q, &a);
	assert_int_equal(a.status, ok ? 200 : slice_is(a.bytes, METHOD) ? 405 : 403);
	assert_true(ok || !*a.cookie);
	return ok ? a.cookie : (const char *)a.bytes.data;
}

static const char *ask(const char *method, const char *host, const char *cookies,
		const char *token) {
	struct http_request q = {.method = slice_of_text(method),
			.host = slice_of_text(host),
			.cookies = slice_of_text(cookies),
			.token = slice_of_text(token)};
	return answer_to(&q);
}

/** The cookie as a browser sends it: name=token. */
static const char *cookie(void) {
	static char line[128];
	(void)snprintf(line, sizeof line, "%s=%s", guard.name, guard.token);
	return line;
}

static void lets_in_who_knows_the_token(void **state) {
	(void)state;
	assert_string_equal(ask("GET", "127.0.0.1:4123", "", guard.token), newcomer);
	assert_string_equal(ask("GET", "localhost", "", guard.token), newcomer);
	assert_string_equal(ask("GET", "[::1]:80", "", guard.token), newcomer);
	assert_string_equal(ask("GET", "localhost:1", cookie(), ""), WELCOME);
	char others[256];
	(void)snprintf(others, sizeof others, "a=b; %s;c=d", cookie());
	assert_string_equal(ask("GET", "localhost:1", others, ""), WELCOME);
}

static void keeps_out_all_others(void **state) {
	(void)state;
	assert_string_equal(ask("GET", "localhost:1", "", ""), STRANGER);
	char wrong[GUARD_TOKEN_DIGITS + 1];
	memcpy(wrong, guard.token, sizeof wrong);
	wrong[GUARD_TOKEN_DIGITS - 1] ^= 1;
	assert_string_equal(ask("GET", "localhost:1", "", wrong), STRANGER);
	wrong[GUARD_TOKEN_DIGITS - 1] = 0;
	assert_string_equal(ask("GET", "localhost:1", "", wrong), STRANGER);
	char line[256];
	(void)snprintf(line, sizeof line, "x%s", cookie());
	assert_string_equal(ask("GET", "localhost:1", line, ""), STRANGER);
	(void)snprintf(line, sizeof line, "%s0", cookie());
	assert_string_equal(ask("GET", "localhost:1", line, ""), STRANGER);
	(void)snprintf(line, sizeof line, "%s=%s", guard.name, wrong);
	assert_string_equal(ask("GET", "localhost:1", line, ""), STRANGER);
	assert_string_equal(ask("GET", "localhost:1", guard.name, ""), STRANGER);
}

static void wants_its_own_name(void **state) {
	(void)state;
	static const char *const foreign[] = {"", "evil.example", "evil.example:4123",
			"127.0.0.1.evil.example", "localhost.evil.example:80", "127.0.0.1:", "127.0.0.1:80a",
			"127.0.0.1:123456", "127.0.0.1 ", "0.0.0.0:80", "[::1", "127.0.0.1:80@evil.example"};
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		assert_string_equal(ask("GET", foreign[i], cookie(), guard.token), HOST);
	}
}

static void wants_no_other_page(void **state) {
	(void)state;
	static const struct {
		const char *origin;
		const char *says;
	} known[] = {{"http://localhost:1", WELCOME}, {"", WELCOME}, {"null", ORIGIN},
			{"http://localhost:12", ORIGIN}, {"https://localhost:1", ORIGIN}, {"http://", ORIGIN},
			{"http://127.0.0.1:1", ORIGIN}, {"http://evil.example", ORIGIN},
			{"localhost:1", ORIGIN}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct http_request q = {.method = slice_of_text("GET"),
				.host = slice_of_text("localhost:1"),
				.origin = slice_of_text(known[i].origin),
				.cookies = slice_of_text(cookie())};
		assert_string_equal(answer_to(&q), known[i].says);
	}
}

static void takes_get_alone(void **state) {
	(void)state;
	static const char *const methods[] = {"POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get", ""};
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		assert_string_equal(ask(methods[i], "localhost:1", cookie(), guard.token), METHOD);
	}
}

static void two_guards_share_nothing(void **state) {
	(void)state;
	struct guard other;
	assert_true(guard_init(&other, NULL));
	assert_string_not_equal(other.token, guard.token);
	assert_string_not_equal(other.name, guard.name);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(lets_in_who_knows_the_token),
			cmocka_unit_test(keeps_out_all_others),
			cmocka_unit_test(wants_its_own_name),
			cmocka_unit_test(wants_no_other_page),
			cmocka_unit_test(takes_get_alone),
			cmocka_unit_test(two_guards_share_nothing),
	};
	return cmocka_run_group_tests(tests, make_guard, NULL);
}
