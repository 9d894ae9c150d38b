// SPDX-License-Identifier: MIT
// Who is let in, and where to: guard and route are all that looks at a request
#include "server/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static struct guard guard;

static int make_guard(void **state) {
	(void)state;
	return guard_init(&guard, NULL) ? 0 : -1;
}

static enum guard_says ask(const char *method, const char *host, const char *cookies,
		const char *token) {
	struct http_request q = {.method = slice_of_text(method),
			.host = slice_of_text(host),
			.cookies = slice_of_text(cookies),
			.token = slice_of_text(token)};
	return guard_check(&guard, &q);
}

/** The cookie as a browser sends it: name=token. */
static const char *cookie(void) {
	static char line[128];
	guard_cookie(&guard, line);
	*strchr(line, ';') = 0;
	return line;
}

static void lets_in_who_knows_the_token(void **state) {
	(void)state;
	assert_int_equal(ask("GET", "127.0.0.1:4123", "", guard.token), GUARD_NEWCOMER);
	assert_int_equal(ask("GET", "localhost", "", guard.token), GUARD_NEWCOMER);
	assert_int_equal(ask("GET", "[::1]:80", "", guard.token), GUARD_NEWCOMER);
	assert_int_equal(ask("GET", "localhost:1", cookie(), ""), GUARD_WELCOME);
	char others[256];
	(void)snprintf(others, sizeof others, "a=b; %s;c=d", cookie());
	assert_int_equal(ask("GET", "localhost:1", others, ""), GUARD_WELCOME);
}

static void keeps_out_all_others(void **state) {
	(void)state;
	assert_int_equal(ask("GET", "localhost:1", "", ""), GUARD_STRANGER);
	char wrong[GUARD_TOKEN_DIGITS + 1];
	memcpy(wrong, guard.token, sizeof wrong);
	wrong[GUARD_TOKEN_DIGITS - 1] ^= 1;
	assert_int_equal(ask("GET", "localhost:1", "", wrong), GUARD_STRANGER);
	wrong[GUARD_TOKEN_DIGITS - 1] = 0;
	assert_int_equal(ask("GET", "localhost:1", "", wrong), GUARD_STRANGER);
	char line[256];
	(void)snprintf(line, sizeof line, "x%s", cookie());
	assert_int_equal(ask("GET", "localhost:1", line, ""), GUARD_STRANGER);
	(void)snprintf(line, sizeof line, "%s0", cookie());
	assert_int_equal(ask("GET", "localhost:1", line, ""), GUARD_STRANGER);
	(void)snprintf(line, sizeof line, "%s=%s", guard.name, wrong);
	assert_int_equal(ask("GET", "localhost:1", line, ""), GUARD_STRANGER);
	assert_int_equal(ask("GET", "localhost:1", guard.name, ""), GUARD_STRANGER);
}

static void wants_its_own_name(void **state) {
	(void)state;
	static const char *const foreign[] = {"", "evil.example", "evil.example:4123",
			"127.0.0.1.evil.example", "localhost.evil.example:80", "127.0.0.1:", "127.0.0.1:80a",
			"127.0.0.1:123456", "127.0.0.1 ", "0.0.0.0:80", "[::1", "127.0.0.1:80@evil.example"};
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		assert_int_equal(ask("GET", foreign[i], cookie(), guard.token), GUARD_HOST);
	}
}

static void wants_no_other_page(void **state) {
	(void)state;
	static const struct {
		const char *origin;
		enum guard_says says;
	} known[] = {{"http://localhost:1", GUARD_WELCOME}, {"", GUARD_WELCOME}, {"null", GUARD_ORIGIN},
			{"http://localhost:12", GUARD_ORIGIN}, {"https://localhost:1", GUARD_ORIGIN},
			{"http://", GUARD_ORIGIN}, {"http://127.0.0.1:1", GUARD_ORIGIN},
			{"http://evil.example", GUARD_ORIGIN}, {"localhost:1", GUARD_ORIGIN}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct http_request q = {.method = slice_of_text("GET"),
				.host = slice_of_text("localhost:1"),
				.origin = slice_of_text(known[i].origin),
				.cookies = slice_of_text(cookie())};
		assert_int_equal(guard_check(&guard, &q), known[i].says);
	}
}

static void takes_get_alone(void **state) {
	(void)state;
	static const char *const methods[] = {"POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get", ""};
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		assert_int_equal(ask(methods[i], "localhost:1", cookie(), guard.token), GUARD_METHOD);
	}
}

static void two_guards_share_nothing(void **state) {
	(void)state;
	struct guard other;
	assert_true(guard_init(&other, NULL));
	assert_string_not_equal(other.token, guard.token);
	assert_string_not_equal(other.name, guard.name);
}

static enum route_to to(const char *path) {
	return route_of(slice_of_text(path)).to;
}

static void knows_its_paths(void **state) {
	(void)state;
	assert_int_equal(to("/"), ROUTE_PAGE);
	assert_int_equal(to("/profile.bin"), ROUTE_PROFILE);
	assert_int_equal(to("/base.bin"), ROUTE_BASE);
	assert_int_equal(to("/save.html"), ROUTE_WHOLE);
	assert_int_equal(to("/alive"), ROUTE_ALIVE);
	struct route source = route_of(slice_of_text("/source/4294967295"));
	assert_int_equal(source.to, ROUTE_SOURCE);
	assert_int_equal(source.id, UINT32_MAX);
	assert_int_equal(route_of(slice_of_text("/source/0")).to, ROUTE_SOURCE);
}

static void knows_no_other_path(void **state) {
	(void)state;
	static const char *const paths[] = {"", "//", "/../etc/passwd", "/source/", "/source/-1",
			"/source/+1", "/source/01", "/source/4294967296", "/source/99999999999", "/source/1/",
			"/source/1/../2", "/source/..", "/source//etc/passwd", "/source/1 ", "/PROFILE.BIN",
			"/profile.bin/", "/profile.bin?x", "profile.bin", "/alive/x"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		assert_int_equal(to(paths[i]), ROUTE_NOWHERE);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(lets_in_who_knows_the_token),
			cmocka_unit_test(keeps_out_all_others),
			cmocka_unit_test(wants_its_own_name),
			cmocka_unit_test(wants_no_other_page),
			cmocka_unit_test(takes_get_alone),
			cmocka_unit_test(two_guards_share_nothing),
			cmocka_unit_test(knows_its_paths),
			cmocka_unit_test(knows_no_other_path),
	};
	return cmocka_run_group_tests(tests, make_guard, NULL);
}
