"""A service that keeps word lists, each in a database in memory until its user saves it."""

import sqlite3
import time

databases = {}


def database(request):
    key = request["user"], request["list"], request["time"]
    if key not in databases:
        databases[key] = sqlite3.connect(":memory:")
        databases[key].execute("CREATE TABLE words (word TEXT PRIMARY KEY, meaning TEXT)")
    return databases[key]


def handle(request):
    words = ((f"{request['list']} {n}", "not looked up yet") for n in range(500))
    database(request).executemany("INSERT OR REPLACE INTO words VALUES (?, ?)", words)


for n in range(150):
    handle({"user": n % 5, "list": "animals" if n % 2 else "plants", "time": n})
    time.sleep(0.01)
