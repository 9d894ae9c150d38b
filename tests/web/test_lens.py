"""The page and the program answer the same question with the same numbers.

Random lenses, each asked of both: totals, the whole call tree, and every way of summing it up.
"""

import collections
import json
import operator
import random
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
from page_recordings import EIGHT

HERE = Path(__file__).parent
SHORT, LONG = 8, 200
ENGINE = HERE.parents[1] / "src/engine"
ALL = re.findall(r'METRIC\((\w+), "([\w-]+)"\)', (ENGINE / "metrics.h").read_text())
NOT_OF_BLOCKS = re.findall(r"METRIC\((\w+),\s*\.of =", (ENGINE / "lens/metrics.def").read_text())
METRICS = [name for word, name in ALL if word not in NOT_OF_BLOCKS]
OTHERS = [name for word, name in ALL if word in NOT_OF_BLOCKS]
COSTS = ["bytes", "blocks", "allocations", "allocated_bytes", "temporary"]
OF_NODE = COSTS + ["own_bytes", "own_blocks"]
costs_of = operator.itemgetter(*OF_NODE)


def names_of(program):
    return [frame["function"] for site in program["sites"]["allocations"]
            for frame in site["stack"] if frame["function"]] or ["main"]


def words_of(program, names, random_):
    """A lens: each word now and then; names are those of the recording."""
    times = [point["time_ns"] for point in program["timeline"]] or [0]
    words = []
    if random_.random() < 0.8:
        words.append("m=" + random_.choice(METRICS))
    if random_.random() < 0.6:
        a, b = sorted(random_.choice(times) for _ in range(2))
        first = random_.choice([f"{a / 1e9:.9f}", f"{a / 1e9:.2f}", "start", "10%"])
        last = random_.choice([f"{b / 1e9:.9f}", f"{b / 1e9:.2f}", "end", "peak"])
        words.append("t=" + random_.choice([f"{first}-{last}"] * 4 + ["peak", "-1s-end"]))
    if random_.random() < 0.3:
        text = random_.choice(names)
        start = random_.randrange(max(1, len(text) - 3))
        words.append("q=" + random_.choice(["", "!"]) + quote(text[start:start + 5]))
    if random_.random() < 0.15:
        words.append("q=/" + random_.choice(["^main", "alloc", "[a-m]e.*r", "v(e|o)"]) + "/")
    if random_.random() < 0.2:
        words.append("focus=" + quote(random_.choice(names)))
    if random_.random() < 0.2:
        words.append("hide=" + quote(random_.choice(names)))
    if random_.random() < 0.3:
        words.append("fold=0")
    if random_.random() < 0.15:
        words.append("threads=" + program["program"]["command"][0].rsplit("/", 1)[-1])
    if program.get("processes") and random_.random() < 0.6:
        known = [word for p in program["processes"] for word in (str(p["pid"]), f"#{p['id']}", p["command"])]
        chosen = random_.sample(known, random_.choice([1, 1, 2, 3])) + ["none"] * (random_.random() < 0.1)
        words.append("process=" + ",".join(map(quote, chosen)))
    if random_.random() < 0.25:
        words.append("group=" + random_.choice(["package", "module", "file"]))
    return "&".join(words)


class Paths:
    """Names from the root, each such row as one number: trees are deep, and hold each prefix often."""

    def __init__(self):
        self.ids = {}

    def bag(self, nodes, label):
        """The tree as a bag of (path, frames folded, costs): order does not count."""
        path = {None: 0}
        bag = collections.Counter()
        for node in nodes:
            key = path[node["parent"]], label(node)
            path[node["id"]] = at = self.ids.setdefault(key, len(self.ids) + 1)
            bag[at, node.get("folded") or 0, costs_of(node)] += 1
        return bag

    def words(self, bag):
        """The first of a bag, for people."""
        keys = {at: key for key, at in self.ids.items()}
        said = []
        for at, *what in list(bag)[:5]:
            names = []
            while at:
                at, name = keys[at]
                names.append(name)
            said.append((names[::-1], *what))
        return said


def check_trees(lens, mine, theirs):
    group = theirs["lens"]["group"]
    paths = Paths()
    mine_tree = paths.bag(mine["tree"], lambda node: node["label"])
    their_tree = paths.bag(theirs["tree"], lambda node: node.get(group))
    assert mine_tree == their_tree, (lens, paths.words(mine_tree - their_tree), paths.words(their_tree - mine_tree))
    assert mine["uneven"] == 0, f"{lens}: nodes that are not the sum of what is below them"
    assert mine["unequal"] == [], f"{lens}: bottom-up and top-down differ in what is beside the weight"
    assert mine["misplaced"] == 0, f"{lens}: nodes with the stacks of others below them"
    for way, total in mine["sums"].items():
        assert total == mine["sums"]["weight"], f"{lens}: {way}"


def ask_program(build, file, lens):
    asked = subprocess.run([build / "heaptrack_print", "--json", "--limit", "0", "--tree",
                            "--lens", lens, file], capture_output=True, timeout=300, check=False)
    return json.loads(asked.stdout) if asked.returncode == 0 else asked.stderr.decode()


def ask_page(modules, lenses, *pages, script="engine.mjs"):
    """What the page computes under each lens: asked one by one, for an answer may be large."""
    with subprocess.Popen(["node", HERE / script, modules, *pages], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as node:
        for lens in lenses:
            node.stdin.write(lens + "\n")
            node.stdin.flush()
            answer = node.stdout.readline()
            assert answer, f"node ended at {lens!r}: {node.wait(60)}"
            yield json.loads(answer)
        node.stdin.close()
        assert node.wait(60) == 0


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", EIGHT + ["threads", "tree"])
def test_page_and_program_agree(name, build, pages, modules, ask, is_long):
    recording, page = pages.recording(name), pages.page(name)
    random_ = random.Random(f"lenses {name}")
    whole = ask(recording)
    names = names_of(whole)
    lenses = ["", "t=peak"] + [words_of(whole, names, random_) for _ in range(LONG if is_long else SHORT)]
    del whole, names  # of a compiler these are half a million objects
    answered = 0
    for lens, mine in zip(lenses, ask_page(modules, lenses, page), strict=True):
        theirs = ask_program(build, recording, lens)
        if isinstance(theirs, str):
            assert mine["rest"], f"the program refuses {lens!r} ({theirs}), the page does not"
            continue
        answered += 1
        assert not mine["rest"], f"the page does not understand {mine['rest']} of {lens!r}"
        assert mine["totals"] == theirs["totals"], lens
        assert mine["moment_ns"] == theirs["lens"]["moment_ns"], lens
        check_trees(lens, mine, theirs)
    assert answered >= len(lenses) * 3 // 4, f"only {answered} of {len(lenses)} were asked of both"


@pytest.mark.parametrize("name", ["demo", "python3", "threads", "leaks"])
def test_page_and_program_agree_on_what_is_not_of_blocks(name, build, pages, modules):
    """Mappings, and what a look at memory saw: with a range, the newest until its end, on the page of looks alone."""
    recording, page = pages.recording(name), pages.page(name)
    lenses = [f"m={metric}{more}" for metric in OTHERS for more in ("", "&fold=0", "&q=a", "&group=module", "&focus=main")]
    looks = json.loads(subprocess.run([build / "heaptrack_print", "--json", "--memory", recording], capture_output=True,
                                      timeout=300, check=True).stdout)["looks"]
    lenses += [f"m={metric}&t=0-{look['time_ns'] * by / 1e9:.9f}" for metric in ("resident", "untouched")
               for look in looks for by in (0.9, 1.01)]
    weighed, asked = set(), 0
    for lens, mine in zip(lenses, ask_page(modules, lenses, page), strict=True):
        theirs = ask_program(build, recording, lens)
        if isinstance(theirs, str):
            is_of_leaks = lens.startswith(("m=graded", "m=unreachable", "m=held")) and name != "leaks"
            assert ("t=" in lens or is_of_leaks) and "nobody looked" in theirs and mine["totals"]["bytes"] == 0, (lens, theirs)
            continue
        asked += "t=" in lens
        for answer in mine, theirs:  # what was allocated is no part of the question
            answer["tree"] = [node | dict.fromkeys(COSTS[2:], 0) for node in answer["tree"]
                              if node["bytes"] or node["blocks"] or node["parent"] is None]
        assert [mine["totals"][cost] for cost in COSTS[:2]] == [theirs["totals"][cost] for cost in COSTS[:2]], lens
        assert mine["moment_ns"] == theirs["lens"]["moment_ns"], lens
        check_trees(lens, mine, theirs)
        weighed |= {lens.partition("&")[0]} if mine["totals"]["bytes"] else set()
    assert asked >= 2
    # Not all of these programs map
    expected = {"python3": set(OTHERS) - {"graded", "unreachable", "held"}, "leaks": {"resident", "graded", "unreachable", "held"}}.get(name, {"resident"})
    assert weighed >= {f"m={metric}" for metric in expected}, weighed


def test_a_lens_survives_its_own_text(build, pages, modules):
    """What the page writes into its address means the same to the program."""
    recording, page = pages.recording("demo"), pages.page("demo")
    lenses = ["m=kept&t=1.5-2.6", "t=peak", "q=!vector&fold=0", "q=/^ma.*n/", "t=start-1.0", "t=40%-end"]
    for lens, mine in zip(lenses, ask_page(modules, lenses, page), strict=True):
        again = ask_program(build, recording, mine["text"])
        assert isinstance(again, dict), (lens, mine["text"], again)
        assert again["lens"] == ask_program(build, recording, lens)["lens"], (lens, mine["text"])


def test_moments_that_the_program_named(build, pages, modules):
    recording, page = pages.recording("marked"), pages.page("marked")
    lenses = ["m=kept&t=mark:request-mark:warm-up", "t=mark:request%232-end", "t=start-mark:warm-up#2",
              "m=allocations&t=mark:warm-up-mark:request#2", "t=mark:none-end"]
    for lens, mine in zip(lenses, ask_page(modules, lenses, page), strict=True):
        theirs = ask_program(build, recording, lens)
        if lens == lenses[-1]:
            assert isinstance(theirs, str) and mine["rest"]
        else:
            assert mine["totals"] == theirs["totals"] and theirs["totals"]["allocations"], lens


# ---- two recordings

METRIC_KEYS = {"peak": "peak", "never-freed": "never_freed", "allocations": "allocations",
               "temporary": "temporary"}


def tree_of(nodes, width):
    """What changed in a merged tree: by the names from the root. Of equal paths the sum."""
    path, found = {None: ()}, collections.Counter()
    for i, node in enumerate(nodes):
        path[i] = path[node["parent"]] + (node["function"],)
        if width(node):
            for side in ("base", "this"):
                found[path[i], side] += node[side]
            found[path[i], "width"] += width(node)
    return +found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name,before", [("killed", "before"), ("demo", "kde"), ("python3", "demo")])
def test_page_and_program_compare_alike(name, before, build, pages, modules, is_long):
    files = pages.recording(name), pages.recording(before)
    lenses = [f"m={metric}{more}" for metric in METRIC_KEYS
              for more in ["", "&fold=0", "&t=10%-60%", "&q=main"][:4 if is_long else 2]]
    mine = list(ask_page(modules, lenses, pages.page(name), pages.page(before),
                         script="difference.mjs"))
    for metric, page in zip((lens.split("&")[0][2:] for lens in lenses), mine, strict=True):
        lens = page["text"]  # times of the base are those of the newer one, as its address has them
        asked = [build / "heaptrack_print", "--json", "--limit", "0", "--lens", lens, "-d", files[1]]
        sites, tree = (json.loads(subprocess.run([*asked, *more, files[0]], capture_output=True,
                                                 timeout=300, check=True).stdout)
                       for more in ([], ["--tree"]))
        changed = sites["changed"][METRIC_KEYS[metric]]
        theirs = [[s["function"], s["change"], s["delta"], s["base"]["blocks"], s["this"]["blocks"]]
                  for s in changed]
        assert sorted(page["sites"]) == sorted(theirs), lens
        assert tree_of(page["nodes"], lambda n: n["width"]) == \
            tree_of(tree["nodes"], lambda n: n["grown"] + n["shrunk"]), lens
    assert any(page["sites"] for page in mine)
