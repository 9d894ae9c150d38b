# SPDX-License-Identifier: MIT
# JSON there and back, for a python3 with PYTHONMALLOC=malloc: parse.py ROUNDS
import json
import sys

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
things = [{"id": i, "name": f"thing {i}", "tags": [str(i), "x" * (i % 50)], "at": i / 7} for i in range(2000)]
text = json.dumps(things)
for _ in range(rounds):
    back = json.loads(text)
    text = json.dumps(back, indent=1)
print(len(text))
