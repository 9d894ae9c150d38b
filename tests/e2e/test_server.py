"""heaptrack_gui serves one page to the person who has its token, and to nobody else.

Plain sockets speak to it, so that requests may be as wrong as they like. Loopback only.
"""

import os
import pty
import re
import signal
import socket
import stat
import subprocess
import time

import pytest

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)(/\?token=([0-9a-f]{32}))")
NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "SSH_CONNECTION": "", "SSH_CLIENT": "",
              "SSH_TTY": ""}


class Server:
    def __init__(self, running, text):
        self.running = running
        port, self.entrance, self.token = ADDRESS.search(text).groups()
        self.port = int(port)
        self.cookie = None

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def raw(self, request):
        """All that comes back for these bytes, until the server closes."""
        with self.connect() as s:
            s.sendall(request)
            return receive_all(s)

    def get(self, path, method="GET", host="127.0.0.1", **headers):
        headers.setdefault("Connection", "close")
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return Answer(self.raw(("\r\n".join(lines) + "\r\n\r\n").encode()))

    def enter(self):
        """The cookie that the token is swapped for."""
        answer = self.get(self.entrance)
        assert answer.status == 200, answer
        self.cookie = answer.headers["set-cookie"].split(";")[0]
        return answer

    def ask(self, path, **more):
        if not self.cookie:
            self.enter()
        return self.get(path, Cookie=self.cookie, **more)


class Answer:
    def __init__(self, text):
        head, _, self.body = text.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin1").split("\r\n")
        self.status = int(first.split()[1]) if first else 0
        self.headers = {name.lower(): value.strip()
                        for name, _, value in (line.partition(":") for line in lines)}

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:200]!r}"


def receive_all(s):
    parts = []
    try:
        while part := s.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.fixture
def recording(tools):
    return tools.record("perl", "-e", "@a = map { 'x' x $_ } 1 .. 2000").file


@pytest.fixture
def serve(tools, recording, helpers):
    """Start heaptrack_gui with these options; its Server, once it has said where it is."""
    if b"MHD_start_daemon" not in tools.heaptrack.read_bytes():
        pytest.skip("built without the served page")

    def start(*options, **more):
        env = {**NO_DISPLAY, **more.pop("env", {})}
        running = tools.start(tools.build / "heaptrack_gui", *options, recording, env=env, **more)
        out = running.outputs[0].name
        text = helpers.wait_until(lambda: (t := open(out).read()).count("Ctrl+C") and t or (
            running.process.poll() is not None and "ended"), what="its address")
        assert text != "ended", repr(running.finished(running.process.poll()))
        return Server(running, text)
    return start


@pytest.mark.quick
def test_the_page_and_its_profile_come_to_who_has_the_token(serve):
    server = serve("--no-browser")
    page = server.enter()
    assert page.headers["content-type"].startswith("text/html")
    assert b"<title>perl" in page.body
    cookie = page.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert server.ask("/").status == 200
    profile = server.ask("/profile.bin")
    assert profile.status == 200 and profile.body.startswith(b"heappage")
    whole = server.ask("/save.html")
    assert whole.status == 200 and "attachment" in whole.headers["content-disposition"]
    assert len(whole.body) > len(page.body)


def test_headers_forbid_all_that_the_page_does_not_need(serve):
    server = serve("--no-browser")
    page = server.enter()
    policy = page.headers["content-security-policy"]
    nonce = re.search(r"script-src 'nonce-([0-9a-f]{32})'", policy).group(1)
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "*" not in policy
    for tag in re.findall(rb"<(?:script|style)\b[^>]*>", page.body):
        assert nonce.encode() in tag or b"type=" in tag, tag
    other = server.ask("/")
    assert nonce not in other.headers["content-security-policy"], "a nonce is used once"
    for name, value in {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
                        "cache-control": "no-store"}.items():
        assert page.headers[name] == value
    assert "access-control-allow-origin" not in page.headers


@pytest.mark.parametrize("path", ["/", "/profile.bin", "/base.bin", "/save.html", "/source/1", "/alive",
                                  "/nothing"])
def test_strangers_get_nothing(serve, path):
    server = serve("--no-browser")
    wrong = "0" * 32
    for answer in (server.get(path), server.get(f"{path}?token={wrong}"),
                   server.get(f"{path}?token="), server.get(path, Cookie=f"heaptrack={wrong}"),
                   server.get(path, Cookie=f"{server.token}")):
        assert answer.status == 403, answer
        assert b"heappage" not in answer.body and server.token.encode() not in answer.body


def test_a_foreign_name_gets_nothing(serve):
    server = serve("--no-browser")
    server.enter()
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "",
                 "192.168.0.1"):
        answer = server.ask("/profile.bin", host=host)
        assert answer.status in (400, 403), (host, answer)
        assert b"heappage" not in answer.body
    assert server.ask("/profile.bin", host=f"localhost:{server.port}").status == 200
    # Through ssh -L it has the port of the other end
    assert server.ask("/profile.bin", host="localhost:8899").status == 200


def test_another_page_gets_nothing(serve):
    server = serve("--no-browser")
    server.enter()
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{server.port}"):
        answer = server.get("/profile.bin", Cookie=server.cookie, Origin=origin)
        assert answer.status == 403 and b"heappage" not in answer.body, (origin, answer)
    here = f"127.0.0.1:{server.port}"
    assert server.get("/profile.bin", host=here, Cookie=server.cookie, Origin=f"http://{here}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "BREW"])
def test_get_alone(serve, method):
    server = serve("--no-browser")
    answer = server.ask("/", method=method)
    assert answer.status in (405, 501), answer
    assert b"<title>" not in answer.body
    answer = server.get("/profile.bin", method=method, Cookie=server.cookie,
                        **{"Content-Length": "100000000"})
    assert answer.status in (405, 501), answer


@pytest.mark.parametrize("path", ["/../etc/passwd", "/source/../../etc/passwd", "/source/%2e%2e/x",
                                  "/source//etc/passwd", "/source/-1", "/source/4294967296",
                                  "/source/99999999", "/source/0", "/etc/passwd", "//", "/%00",
                                  "/source/1%00", "/profile.bin/..", "", "/source/", "/source/+1",
                                  "/source/01", "/source/99999999999", "/source/1/", "/source/1/../2",
                                  "/source/..", "/PROFILE.BIN", "/profile.bin/", "profile.bin", "/alive/x"])
def test_nothing_by_path(serve, path):
    answer = serve("--no-browser").ask(path)
    assert answer.status in (400, 404), answer
    assert b"root:" not in answer.body


def test_source_files_by_their_number(tools, serve, helpers):
    """A file that the recording names comes; --no-source keeps it back."""
    source = tools.folder / "made.c"
    source.write_text("#include <stdlib.h>\nint main(void) { return malloc(100) == 0; } // here\n")
    program = tools.folder / "made"
    subprocess.run(["gcc", "-g", "-o", program, source], check=True)
    file = tools.record(program, name="made").file
    found = {}
    for options in ((), ("--no-source",)):
        running = tools.start(tools.build / "heaptrack_gui", "--no-browser", *options, file,
                              env=NO_DISPLAY)
        out = running.outputs[0].name
        server = Server(running, helpers.wait_until(
            lambda: (t := open(out).read()).count("Ctrl+C") and t, what="its address"))
        answers = [server.ask(f"/source/{i}") for i in range(400)]
        found[options] = [a.body for a in answers if a.status == 200]
        assert {a.status for a in answers} <= {200, 404}
    assert source.read_bytes() in found[()]
    assert found[("--no-source",)] == []


def test_huge_requests_are_refused(serve):
    server = serve("--no-browser")
    server.enter()
    for request in (b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"b" * 1000000 + b"\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 100000 + b"\r\n",
                    b"\0" * 100000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
        try:
            text = server.raw(request)
        except (BrokenPipeError, ConnectionResetError):
            text = b""
        assert b" 200 " not in text.split(b"\r\n")[0]
    assert server.ask("/profile.bin").status == 200


def test_slow_and_many_clients_hold_nobody_up(serve):
    server = serve("--no-browser")
    server.enter()
    slow = [server.connect() for _ in range(100)]
    for s in slow:
        s.sendall(b"GET /profile.bin HTTP/1.1\r\nHo")
    many = [server.connect() for _ in range(100)]
    request = f"GET /profile.bin HTTP/1.1\r\nHost: localhost\r\nCookie: {server.cookie}\r\n" \
        "Connection: close\r\n\r\n"
    for s in many:
        s.sendall(request.encode())
    for s in many:
        assert Answer(receive_all(s)).status == 200
    for s in slow + many:
        s.close()


def test_two_hundred_at_once(serve):
    """A profile each, all asked for before the first is read."""
    server = serve("--no-browser")
    whole = server.ask("/profile.bin").body
    request = f"GET /profile.bin HTTP/1.1\r\nHost: localhost\r\nCookie: {server.cookie}\r\n" \
        "Connection: close\r\n\r\n"
    many = [server.connect() for _ in range(200)]
    for s in many:
        s.sendall(request.encode())
    for s in many:
        answer = Answer(receive_all(s))
        assert answer.status == 200 and answer.body == whole
        s.close()
    assert server.ask("/").status == 200


def test_it_ends_by_signals_and_says_nothing_of_it(serve):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        server = serve("--no-browser")
        server.enter()
        os.kill(server.running.pid, number)
        finished = server.running.wait()
        assert finished.status == 0 and finished.stderr == "", repr(finished)


@pytest.mark.waits
@pytest.mark.timeout(150)
def test_it_ends_when_the_last_tab_has_gone(serve):
    server = serve("--no-browser")
    server.enter()
    with server.connect() as tab:
        tab.sendall(f"GET /alive HTTP/1.1\r\nHost: localhost\r\nCookie: {server.cookie}\r\n\r\n"
                    .encode())
        tab.settimeout(20)
        assert b"200" in tab.recv(4096)
        end = time.monotonic() + 36  # longer than nobody may be there
        while time.monotonic() < end:
            assert tab.recv(4096), "a tab is open: the stream stays"
        assert server.running.process.poll() is None
    finished = server.running.wait(80)
    assert finished.status == 0, repr(finished)


def test_only_its_owner_may_connect_to_a_socket(serve, tools):
    path = tools.folder / "socket"
    server = serve("--socket", path)
    mode = path.stat()
    assert stat.S_ISSOCK(mode.st_mode) and stat.S_IMODE(mode.st_mode) == 0o600
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(path))
        s.sendall(f"GET {server.entrance} HTTP/1.1\r\nHost: localhost:8899\r\n"
                  "Connection: close\r\n\r\n".encode())
        assert Answer(receive_all(s)).status == 200
    os.kill(server.running.pid, signal.SIGINT)
    server.running.wait()
    assert not path.exists()


def test_it_listens_on_the_loopback_alone(serve):
    server = serve("--no-browser")
    rows = [line.split()[1] for line in open("/proc/net/tcp")][1:]
    listening = [row for row in rows if row.endswith(f":{server.port:04X}")]
    assert listening and all(row.startswith("0100007F:") for row in listening)


def test_the_token_is_in_no_command_line_and_no_open_file(serve, tools):
    opened = tools.folder / "opened"
    browser = tools.folder / "browser"
    browser.write_text(f'#!/bin/sh\nstat -c "%a $1" "$1" > {opened}.new\ncat "$1" > {opened}.page\n'
                       f"mv {opened}.new {opened}\n")
    browser.chmod(0o755)
    server = serve(env={"DISPLAY": ":99", "BROWSER": str(browser), "XDG_RUNTIME_DIR":
                        str(tools.folder)})
    end = time.monotonic() + 60
    while not opened.exists() and time.monotonic() < end:
        time.sleep(0.05)
    mode, file = opened.read_text().split()
    assert mode == "600"
    assert server.token in open(f"{opened}.page").read()
    for cmdline in [f"/proc/{pid}/cmdline" for pid in os.listdir("/proc") if pid.isdigit()]:
        try:
            assert server.token not in open(cmdline).read()
        except OSError:
            pass
    server.enter()
    end = time.monotonic() + 60
    while os.path.exists(file) and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.path.exists(file), "the file goes when the page was asked for"


def test_the_port_that_is_asked_for(serve, tools, recording):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    assert serve("--no-browser", "--port", str(port)).port == port
    second = tools.run(tools.build / "heaptrack_gui", "--no-browser", "--port", str(port), recording)
    assert second.status == 1
    assert f"127.0.0.1:{port}" in second.stderr and len(second.stderr.splitlines()) == 1


def test_over_ssh_it_says_the_line_to_type(serve):
    server = serve(env={**NO_DISPLAY, "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
    text = open(server.running.outputs[0].name).read()
    assert f"ssh -L {server.port}:127.0.0.1:{server.port} " in text


def test_without_a_file_it_lists_what_there_is(tools, recording):
    (tools.folder / "other.txt").write_text("no recording")
    listed = tools.run(tools.build / "heaptrack_gui", cwd=tools.folder)
    assert listed.status == 0
    assert recording.name in listed.stdout and "other.txt" not in listed.stdout
    empty = tools.folder / "empty"
    empty.mkdir()
    listed = tools.run(tools.build / "heaptrack_gui", cwd=empty)
    assert listed.status == 0 and "No recordings" in listed.stdout


def on_a_terminal(command, env):
    """What a command prints on a terminal, and its exit status."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(str(command[0]), [str(word) for word in command], {**os.environ, **env})
    parts = []
    try:
        while part := os.read(fd, 4096):
            parts.append(part)
    except OSError:
        pass
    os.close(fd)
    return b"".join(parts).decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_analyze_prints_the_report_where_no_browser_is(tools, recording):
    piped = tools.run(tools.heaptrack, "-a", recording, env={**NO_DISPLAY, "DISPLAY": ":99"})
    assert piped.status == 0 and "total runtime" in piped.stdout and "--web" not in piped.stdout
    text, status = on_a_terminal([tools.heaptrack, "-a", recording], NO_DISPLAY)
    assert status == 0 and "total runtime" in text
    if not (tools.build / "src/web/page.html").exists():
        pytest.skip("built without the page")
    assert "heaptrack_print --html" in text and "--analyze --web" in text
    text, status = on_a_terminal([tools.heaptrack, "-a", recording],
                                 {**NO_DISPLAY, "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"})
    assert status == 0 and "scp " in text and "ssh -L" in text


def test_the_version_names_what_the_page_is_made_of(tools):
    if not (tools.build / "src/web/page.html").exists():
        pytest.skip("built without the page")
    said = tools.run(tools.build / "heaptrack_gui", "--version")
    assert said.status == 0 and said.stdout.startswith("heaptrack_gui ")
    assert "preact" in said.stdout and "(MIT)" in said.stdout


def test_a_missing_file_is_said_in_one_line(tools):
    finished = tools.run(tools.build / "heaptrack_gui", "--no-browser", "nowhere.zst",
                         cwd=tools.folder)
    assert finished.status == 1 and len(finished.stderr.splitlines()) == 1
