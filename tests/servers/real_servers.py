"""Servers that others wrote, healthy and under load: warmed up first, then asked the same again and again.

`warm` fills what a server fills once, `client` is the load that is recorded. Both are run by sh, on the
loopback address alone, and end by themselves. A server whose work is done in processes of its own is
launched for what is said of these, and attached to where the work is done.
"""

import dataclasses
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wild"))

from program import Program

STEADY_S = 4

NGINX = """daemon off; worker_processes 1; user root; pid nginx.pid; error_log err.log;
events {}
http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4;
scgi_temp_path t5; open_file_cache max=100; server { listen 127.0.0.1:{port}; root .; gzip on; gzip_types *; } }
"""

# A client asks for so many seconds, and so often at least: what is filled once must be full, on any machine;
# and for as long as somebody wants it
LOOP = """import http.client, os, socket, sys, time
end = time.monotonic() + float(sys.argv[1])
i = 0
def goes_on():
    return time.monotonic() < end or i < int(sys.argv[2]) or os.path.exists("goes-on")
"""

HTTP = LOOP + """while goes_on():
    one = http.client.HTTPConnection("127.0.0.1", {port}, timeout=20)
    for name in ("words.txt", "rows.json", "none"):
        one.request("GET", "/" + name, headers={"Accept-Encoding": "gzip"})
        one.getresponse().read()
    one.close()
    i += 1
    time.sleep(0.01)
"""

# Keys are overwritten in turn, by values of about the same size
CACHE = LOOP + """with socket.create_connection(("127.0.0.1", {port}), timeout=20) as one:
    file = one.makefile("rwb")
    while goes_on():
        value = b"v" * (400 + i * 7 % 90)
        file.write(b"set k%d 0 0 %d\\r\\n%s\\r\\nget k%d\\r\\n" % (i % 900, len(value), value, i // 2 % 900))
        file.flush()
        while file.readline() != b"END\\r\\n":
            pass
        i += 1
"""

STORE = LOOP + """def words(*given):
    parts = [str(word).encode() for word in given]
    return b"*%d\\r\\n" % len(parts) + b"".join(b"$%d\\r\\n%s\\r\\n" % (len(p), p) for p in parts)
with socket.socket(socket.AF_UNIX) as one:
    one.settimeout(20)
    one.connect("redis.sock")
    file = one.makefile("rwb")
    while goes_on():
        k = i % 500
        file.write(words("set", f"key{k}", "v" * (300 + i * 7 % 90)) + words("hset", f"hash{k}", f"f{k % 9}", "w" * 90)
                   + words("lpush", "list", "x" * 100) + words("ltrim", "list", 0, 400) + words("strlen", f"key{k}"))
        file.flush()
        for _ in range(5):
            assert file.readline()[:1] in (b"+", b":")
        i += 1
        time.sleep(0.002)
"""

SQL = """insert into visits(page, text) values ((random() * 400)::int, repeat('x', 200))
  on conflict (page) do update set text = repeat('y', 200), n = visits.n + 1;
select count(*), max(length(text)) from visits where n > 1;
select * from visits order by n desc, page limit 5;
"""
TABLE = "create table visits(page int primary key, text text, n int default 1)"
PGBENCH = "/usr/lib/postgresql/15/bin/pgbench -n -h {here} -p {port} -U nobody -c 1 -f work.sql"


@dataclasses.dataclass(frozen=True)
class Server(Program):
    warm: str = ""
    grows: tuple = ()  # functions that may be said to grow
    has_workers: bool = False  # its work is done in processes that are not recorded when it is launched


PYTHON = "python3 client.py"
SERVERS = {server.name: server for server in (
    Server("nginx", "nginx-light", "nginx -p . -c nginx.conf -e err.log", ready="{port}", has_workers=True,
           files={"nginx.conf": NGINX, "client.py": HTTP, "inputs": "words.txt rows.json"},
           warm=f"{PYTHON} 0 30", client=f"{PYTHON} {STEADY_S} 0"),
    Server("redis", "redis-server", "redis-server --port 0 --unixsocket redis.sock --save '' --dir .",
           ready="redis.sock", files={"client.py": STORE}, warm=f"{PYTHON} 0 700", client=f"{PYTHON} {STEADY_S} 0"),
    Server("memcached", "memcached", "memcached -u nobody -l 127.0.0.1 -p {port} -t 1", ready="{port}",
           files={"client.py": CACHE}, warm=f"{PYTHON} 0 1800", client=f"{PYTHON} {STEADY_S} 0"),
    Server("postgres", "postgresql", "/usr/lib/postgresql/15/bin/postgres -D data -k {here} -h 127.0.0.1 -p {port}",
           ready=".s.PGSQL.{port}", user="nobody", has_workers=True, files={"work.sql": SQL},
           before="/usr/lib/postgresql/15/bin/initdb -D data -A trust -N >/dev/null",
           warm=f"psql -q -h {{here}} -p {{port}} -U nobody -d postgres -c '{TABLE}'; {PGBENCH} -t 200 postgres >log 2>&1",
           client=f"{PGBENCH} -T {STEADY_S} postgres >log 2>&1"),
)}
