"""Where resident memory went: the section of the report, memory.looks of --json and its findings, held against
tables 33, 40, 42 and 43 of the file.
"""

import collections
import re

from figures import BYTES, TIME, in_bytes, in_percent, in_table, in_time
from recorded import is_left, lives

AT = ("end", "rss-peak", "detach", "request", "timer", "trigger", "sizes")
PARTS = ("heap_live", "heap_rounding", "heap_partly_free", "heap_free", "allocator_tables", "mapped", "stacks",
         "modules_written", "files", "shared", "ours", "unknown", "heap")
WORDS = dict(zip(PARTS, (
    "live blocks", "rounded up by malloc", "free between live blocks", "free, kept by malloc", "malloc's own tables",
    "mapped", "stacks", "data of modules", "code and files", "shared memory", "heaptrack itself", "owner not known",
    "heap, live and free not told apart")))
NAMED = ("modules_written", "files", "shared", "unknown", "heap")
PAGES, TYPES, BLOCKS, MAKERS = 2, 8, 16, 32
ALLOCATORS = {"libjemalloc": "MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 makes jemalloc give it back",
              "libtcmalloc": "MallocExtension_ReleaseFreeMemory() makes tcmalloc give back what its caches do not hold",
              "libmimalloc": "MIMALLOC_RESET_DELAY=0 makes mimalloc give it back",
              "libc.so.6": "malloc_trim(0) makes glibc give it back"}


class Look:
    """A row of table 33 with its rows of 40 and 43."""

    def __init__(self, r, number):
        self.number, self.row = number, r.tables["looks"][number]
        self.parts = [p for p in r.tables["parts"] if p["look"] == number]
        self.arenas = [{"name": ("main arena", "large blocks", f"arena at {f['start']:#x}", "others")[f["kind"]],
                        "live_bytes": f["live_bytes"],
                        "bytes_by_fullness": [f[str(tenths)] * r.meta["page_bytes"] for tenths in range(11)]}
                       for f in r.tables["fullness"] if f["look"] == number]
        self.untouched = [u for u in r.tables["untouched"] if u["look"] == number]
        self.notable = [u for u in self.untouched if u["asked_bytes"] - u["resident_bytes"] >= 4096
                        or u["pinned_bytes"] >= 65536][:64]
        self.bytes, self.lazy = collections.Counter(), collections.Counter()
        for part in self.parts:
            self.bytes[PARTS[part["part"]]] += part["resident_bytes"]
            self.lazy[PARTS[part["part"]]] += part["lazy_free_bytes"]
        self.asked = sum(part["asked_bytes"] for part in self.parts)
        self.rss = self.row["rss_bytes"]
        self.own_rss = self.rss - self.bytes["ours"]
        self.heap = sum(self.bytes[name] for name in (*PARTS[:5], "heap"))
        self.has_pages = bool(self.row["has"] & PAGES)
        self.group = next((g for g in r.tables["groups"] if g["time_ns"] == self.row["time_ns"]), None)

    def named(self, name):
        """What each maker (a chain of addresses), module or file has of a part; () and "": nobody in particular."""
        return [part for part in self.parts if PARTS[part["part"]] == name and part["resident_bytes"]]


def looks_of(r):
    return [Look(r, number) for number in range(len(r.tables["looks"]))]


def shown(r):
    """That of the report: of those with pages the largest, the newest of equals."""
    return max(looks_of(r), key=lambda k: (k.has_pages, k.rss, k.number), default=None)


def others_of(group):
    """What other processes of it hold."""
    return max(0, group["anonymous_bytes"] - group["own_bytes"])


def use_of(group):
    """What is used of its limit, in words."""
    least, back = group["limit_bytes"] // 100, group["inactive_bytes"]
    parts = [(others_of(group), "other processes"),
             (group["file_bytes"] - group["shared_bytes"],
              "page cache" + (f" ({in_bytes(back)} can be taken back)" if back >= least else "")),
             (group["shared_bytes"], "shared memory"), (group["kernel_bytes"], "the kernel")]
    said = ", ".join(f"{in_bytes(size)} {words}" for size, words in parts if size >= least)
    return f"{in_bytes(group['used_bytes'])} of {in_bytes(group['limit_bytes'])}" + (f", of that {said}" if said else "")


def judge_kill(r, text):
    """What the kernel's kill left: the heap, and the last look with its four largest parts."""
    heap = in_bytes(sum(block.size for block in r.blocks if is_left(block)))
    said, wrong = re.search(r"; the heap was (.+?) then(.*)", text), []
    if said[1] != heap:
        wrong.append(f"killed: the heap was {heap}, not {said[1]}")
    looks = looks_of(r)
    if not looks:
        return wrong if re.fullmatch(rf"(, the last RSS seen {BYTES})?", said[2]) else [*wrong, f"killed: no look: {text}"]
    last = max(looks, key=lambda k: (k.row["time_ns"], k.number))
    largest = sorted((n for n in PARTS if last.bytes[n]), key=lambda n: (-last.bytes[n], PARTS.index(n)))[:4]
    rest = last.rss - sum(last.bytes[n] for n in largest)
    truth = (f"; {in_time(max(0, r.meta['duration_ns'] - last.row['time_ns']))} before, RSS was {in_bytes(last.rss)}: " +
             ", ".join([f"{in_bytes(last.bytes[n])} {WORDS[n]}" for n in largest] + [f"{in_bytes(rest)} others"] * (rest > 0)) +
             (f"; its control group used {use_of(last.group)}" if last.group else ""))
    return wrong + ([f"killed: '{truth}', not '{said[2]}'"] if said[2] != truth else [])


# ---- --json


def judge_looks(referee):
    """Each look is that of the tables, its parts add up, and at the end its blocks are those that were left."""
    r, wrong = referee.recorded, []
    said = (referee.report["json"]["memory"] or {"looks": []})["looks"]
    looks = looks_of(r)

    def chain(stack):
        return None if stack is None else tuple(int(f["address"], 16) for f in stack if not f["inlined"])

    def maker(part):
        return r.chain(r.tables["mappings"][part["mapping"] - 1]["node"]) if part["mapping"] else None
    if len(said) != len(looks):
        return [f"--json: {len(said)} looks, not {len(looks)}"]
    for one, look in zip(said, looks):
        row = look.row
        truth = {"look": look.number, "pid": row["pid"], "at": AT[row["at"]], "time_ns": row["time_ns"],
                 "rss_bytes": look.rss, "swap_bytes": row["swap_bytes"], "changed_bytes": row["changed_bytes"],
                 "huge_bytes": row["huge_bytes"], "huge_free_bytes": row["huge_free_bytes"],
                 "has_pages": look.has_pages, "has_makers": bool(row["has"] & MAKERS),
                 "control_group": look.group and {
                     **{key: value for key, value in look.group.items() if key not in ("time_ns", "own_bytes")},
                     "other_processes_bytes": others_of(look.group)}}
        truth["parts"] = [
            {"id": name, "bytes": look.bytes[name],
             **({"asked_bytes": look.asked} if name in ("heap_live", "heap") else {}),
             "rows": [{"bytes": p["resident_bytes"], "lazy_free_bytes": p["lazy_free_bytes"],
                       "name": r.text(p["name"]) or None, "stack": maker(p)} for p in look.named(name)]}
            for name in PARTS if look.bytes[name]]
        truth["arenas"] = look.arenas
        truth["untouched"] = [{"blocks": u["blocks"], "asked_bytes": u["asked_bytes"],
                               "resident_bytes": u["resident_bytes"], "pinned_bytes": u["pinned_bytes"],
                               "stack": r.chain(r.tables["stacks"][u["stack"]]["node"])} for u in look.notable]
        found = {**one, "parts": [{**part, "rows": [{**p, "stack": chain(p["stack"])} for p in part["rows"]]}
                                  for part in one["parts"]],
                 "untouched": [{**u, "stack": chain(u["stack"])} for u in one["untouched"]]}
        wrong += [f"--json: look {look.number}: {key} is {found.get(key)}, not {truth.get(key)}"
                  for key in {**truth, **found} if found.get(key) != truth.get(key)]
        if sum(part["bytes"] for part in one["parts"]) != one["rss_bytes"]:
            wrong.append(f"--json: the parts of look {look.number} do not add up to its RSS")
        wrong += contradictions(r, look)
    return wrong[:6]


def contradictions(r, look):
    """What the tables say of a look against single events."""
    wrong = []
    if look.bytes["heap_live"] > look.asked:
        wrong.append(f"look {look.number}: {look.bytes['heap_live']} B of {look.asked} B of live blocks are resident")
    if look.bytes["heap"] and any(look.bytes[name] for name in PARTS[:4]):
        wrong.append(f"look {look.number}: the heap is told apart, and is not")
    if sum(u["pinned_bytes"] for u in look.untouched) > look.bytes["heap_partly_free"]:
        wrong.append(f"look {look.number}: more is free beside blocks than on all their pages")
    if look.arenas:
        pages = sum(sum(arena["bytes_by_fullness"]) for arena in look.arenas)
        if pages != sum(look.bytes[name] for name in PARTS[:4]):
            wrong.append(f"look {look.number}: arenas have pages of {pages} B")
        if sum(arena["live_bytes"] for arena in look.arenas) != look.bytes["heap_live"]:
            wrong.append(f"look {look.number}: arenas have other live blocks than the heap")
        if not all(sum(n * max(0, tenths - 1) for tenths, n in enumerate(arena["bytes_by_fullness"])) <= 10 * arena["live_bytes"]
                   <= sum(n * tenths for tenths, n in enumerate(arena["bytes_by_fullness"])) for arena in look.arenas):
            wrong.append(f"look {look.number}: pages of arenas are fuller or emptier than what lives there")
    if look.row["huge_free_bytes"] > min(look.row["huge_bytes"], look.heap):
        wrong.append(f"look {look.number}: more of huge pages is free than there is")
    if any(u["resident_bytes"] > u["asked_bytes"] for u in look.untouched):
        wrong.append(f"look {look.number}: more is resident than was asked for")
    if AT[look.row["at"]] != "end" or not look.row["has"] & BLOCKS:
        return wrong
    # The C library frees lists of its own after the look
    then = look.row["time_ns"]
    left = sum(b.size for b in r.blocks if lives(b, then)) + r.summary["old_bytes"] - r.summary["old_freed_bytes"]
    if look.asked != left:
        wrong.append(f"look {look.number}, at the end: live blocks of {look.asked} B, counted {left}")
    sizes = collections.defaultdict(list)
    for b in r.blocks:
        if lives(b, then):
            sizes[b.stack].append(b.size)
    for u in look.untouched:
        stack = r.tables["stacks"][u["stack"]]
        some = sizes[stack["node"], stack["thread"]]
        if (len(some), sum(some)) != (u["blocks"], u["asked_bytes"]):
            wrong.append(f"look {look.number}: a stack has {u}, counted {len(some)} blocks of {sum(some)} B")
    if look.untouched != sorted(look.untouched, key=lambda u: u not in look.notable) and len(look.notable) < 64:
        wrong.append(f"look {look.number}: stacks that were wholly in memory come before others")
    return wrong


def untouched_of(r):
    """By stack, in the look that is shown."""
    of, look = collections.Counter(), shown(r)
    for u in look.untouched if look else ():
        of[r.chain(r.tables["stacks"][u["stack"]]["node"])] += u["asked_bytes"] - u["resident_bytes"]
    return of


def mapped_between(referee, function, since, until):
    """When the calls were by which a function mapped, first and last, and how much more it had at the second moment."""
    r, calls, grown = referee.recorded, [], 0
    times = [edge["time_ns"] for edge in r.tables["mapping_edges"]] + [r.meta["duration_ns"]]

    def lived(v, then):
        return times[v["from"]] <= then and (v["until"] == 0xffff or then < times[v["until"]])
    site = {tuple(int(f["address"], 16) for f in m["stack"] if not f["inlined"]): site_of(m["stack"])["function"]
            for m in referee.report["json"]["memory"]["mappings"] if not m["by_allocator"]}
    for v in r.tables["mapping_intervals"]:
        row = r.tables["mappings"][v["stack"]]
        if site.get(r.chain(row["node"])) == function:
            calls += row["first_ns"], row["last_ns"]
            grown += v["bytes"] * (lived(v, until) - lived(v, since))
    return calls, grown


# ---- the section of the report


def site_of(stack):
    owners = {f["owner"]: f for f in reversed(stack)}
    return owners.get("yours") or owners.get("library") or stack[0]


def makers(referee, look, of_part="mapped"):
    """{what a row may begin with: (bytes, those given back)}: by every function and module on the stacks that mapped."""
    of = collections.defaultdict(lambda: (0, 0))
    rows = next(one for one in referee.report["json"]["memory"]["looks"] if one["look"] == look.number)["parts"]
    for row in next((part["rows"] for part in rows if part["id"] == of_part), []):
        if row["stack"] is None:
            is_thread = (row["name"] or "").startswith("thread ")
            names = {row["name"] if is_thread else bare((row["name"] or "others").rpartition("/")[2])}
        else:
            names = {bare(f["function"]) for f in row["stack"]} | {("site", bare(site_of(row["stack"])["function"]))} | \
                {bare((f["module"] or "").rpartition("/")[2]) for f in row["stack"]}
        for name in names:
            of[name] = of[name][0] + row["bytes"], of[name][1] + row["lazy_free_bytes"]
    return of


def mapped_for(referee, look):
    """Of each call that mapped what is in memory: whose work it was, and how much that is."""
    rows = next(one for one in referee.report["json"]["memory"]["looks"] if one["look"] == look.number)["parts"]
    return [(site_of(row["stack"]), row["bytes"]) for row in next((part["rows"] for part in rows if part["id"] == "mapped"), [])
            if row["stack"]]


def made_by(of, label):
    """What a maker of that name may have mapped."""
    is_whole = label.startswith("before the attach")
    begins = label if label.startswith("thread ") else bare("before the attach" if is_whole else label.split(" via ")[0].split(" ")[0])
    return {sums for name, sums in of.items() if (name[1] if isinstance(name, tuple) else name) == begins}


def bare(function):
    return re.sub(r"[^\w:~]", "", re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", function)).split("(")[0])


def judge_section(referee, lines):
    r, wrong = referee.recorded, []
    look = shown(r)
    if not look:
        return [f"text: a section on memory without a look: {lines}"] if lines else []
    title = re.fullmatch(rf"MEMORY at (?P<which>the end, |the detach, )?(?P<time>{TIME}): RSS (?P<rss>{BYTES})"
                         r"(?:, (?P<share>.+?) of its peak)? +bytes +% of RSS", lines[0] if lines else "")
    if not title:
        return [f"text: no title of a section on memory: {lines[:1]}"]
    peak = r.summary["peak_rss_bytes"]
    truth = {"which": {"end": "the end, ", "detach": "the detach, "}.get(AT[look.row["at"]]),
             "time": in_time(look.row["time_ns"]), "rss": in_bytes(look.rss),
             "share": in_percent(look.rss, peak) if peak > look.rss else None}
    if title.groupdict() != truth:
        wrong.append(f"text: its memory is {truth}, not {title.groupdict()}")
    if len(lines) > 12:
        wrong.append(f"text: its section on memory has {len(lines)} lines")
    return wrong + judge_parts(referee, look, lines[1:])


def judge_parts(referee, look, lines):
    r, wrong, left = referee.recorded, [], dict(look.bytes)
    rest, mapped, smaller = look.bytes["mapped"], [], None
    remarks = [f"  {in_bytes(look.row['swap_bytes'])} more are swapped out",
               f"  about {in_bytes(look.row['changed_bytes'])} came or went while it was read",
               "  resident pages could not be read: what has several owners is not known",
               "  --by type says what its blocks are of Python's objects" if look.row["has"] & TYPES else None,
               f"  its control group used {use_of(look.group)}" if look.group else None]
    for line in lines:
        form = re.fullmatch(r"  (.+?)…? +([\d.]+[KMGT]?) +(<?[\d.]+)", line)
        if not form:
            if line not in remarks or ("could not" in line) == look.has_pages:
                wrong.append(f"text: a line on memory that the referee does not know: {line}")
            continue
        label, number, share = form.groups()
        if label.startswith(("mapped by ", "mapped before the attach")):
            mapped.append((label.removeprefix("mapped ").removeprefix("by "), number, share))
            continue
        if label == "smaller parts":
            smaller = number, share
            continue
        name = next((n for n in PARTS if label == WORDS[n] or label.startswith(WORDS[n] + " (")), None)
        if not name or not left.get(name):
            wrong.append(f"text: no part, or none again: {line}")
            continue
        value = left.pop(name)
        if (number, share) != figures_of(value, look.rss):
            wrong.append(f"text: {name} is {value} of {look.rss}: {line}")
        wrong += judge_remark(referee, look, name, label.removeprefix(WORDS[name]), line)
    wrong += judge_mapped(referee, look, mapped, rest)
    left.pop("mapped", None) if mapped else None
    missing = sum(left.values())
    if (smaller or figures_of(0, 1)) != figures_of(missing, look.rss) and (smaller or missing):
        wrong.append(f"text: the smaller parts are {missing}, not {smaller}")
    return wrong


def figures_of(value, rss):
    share = 100 * value / rss if rss else 0
    return in_table(value), "<0.1" if 0 < share < 0.1 else f"{min(share, 99.9) if value < rss else share:.1f}"


def judge_remark(referee, look, name, remark, line):
    """What stands in brackets behind a part."""
    r = referee.recorded
    if name == "shared" and any(part["mapping"] for part in look.named(name)):
        of = makers(referee, look, name)
        return [f"text: nobody of that name shares {n}: {who}" for who, n in re.findall(rf"(.+?) ({BYTES})(?:, |$)", remark[2:-1])
                if not any(in_bytes(sums[0]) == n for sums in made_by(of, who))]
    if name == "heap_live":
        truth = f" (of {in_bytes(look.asked)} asked for)" if look.asked > look.bytes[name] else ""
    elif look.lazy[name]:
        truth = f" ({in_bytes(look.lazy[name])} given back, not taken yet)"
    elif name in NAMED:
        of = collections.Counter()
        for part in look.named(name):
            of[r.text(part["name"])] += part["resident_bytes"]
        of.pop("", None)
        top = sorted(of.items(), key=lambda item: (-item[1], item[0].encode()))[:2]
        entries = [f"{n.rpartition('/')[2]} {in_bytes(v)}" for n, v in top]
        for n in range(len(entries)):  # what does not fit is left out
            is_full = len(WORDS[name]) + len(remark) + len(entries[n]) > 70
            if is_full and remark == (f" ({', '.join(entries[:n])})" if n else ""):
                return []
        truth = f" ({', '.join(entries)})" if entries else ""
    else:
        truth = ""
    return [] if remark == truth else [f"text: {truth}, not {remark}: {line}"]


def judge_mapped(referee, look, rows, whole):
    """Each is a maker's, and the others are what is left of all."""
    wrong, of, rest = [], makers(referee, look), whole
    for label, number, share in rows:
        others = re.fullmatch(r"others(?: \((.+)\))?|.+ and others", label)
        if others:
            wrong += [f"text: nobody of that name mapped {n}: {name}"
                      for name, n in re.findall(rf"(.+?) ({BYTES})(?:, |$)", others[1] or "")
                      if not any(in_bytes(sums[0]) == n for sums in made_by(of, name))]
            if (number, share) != figures_of(rest, look.rss) and rest <= whole:
                # Makers whose figures are rounded alike may have been taken for each other
                wrong.append(f"text: mapped by others is {rest}, not {number}")
            continue
        back = re.search(rf" \(({BYTES}) given back, not taken yet\)$", label)
        fits = [sums for sums in made_by(of, label) if figures_of(sums[0], look.rss) == (number, share) and
                (in_bytes(sums[1]) if sums[1] else None) == (back[1] if back else None)]
        if not fits:
            wrong.append(f"text: nobody of that name mapped {number}: {label}")
        rest -= fits[0][0] if fits else 0
    return wrong


# ---- findings


def at_words(look):
    return {"end": "the end", "detach": "the detach"}.get(AT[look.row["at"]]) or in_time(look.row["time_ns"])


def heap_since(r, look, since):
    """What blocks held at most from then on."""
    return max([look.asked, *(edge["bytes"] + r.summary["old_bytes"] for edge in r.tables["edges"] if edge["end_ns"] > since)])


def free_and_freed(r, look):
    """What of the heap's pages no block has, and by how much blocks held more before."""
    return look.bytes["heap_free"] + look.bytes["heap_partly_free"], heap_since(r, look, 0) - look.asked


def kept(r, look):
    """What is free, what blocks held at most from the last quarter of the time before on, since when they held no more."""
    free = look.bytes["heap_free"] - look.lazy["heap_free"]
    now = look.row["time_ns"]
    held = [(edge["end_ns"], edge["bytes"] + r.summary["old_bytes"]) for edge in r.tables["edges"]]  # until when at most
    most = max([look.asked, *(size for end, size in held if end > now - now // 4)])
    since = max([0, *(end for end, size in held if end <= now - now // 4 and size > most)])
    return free, most, since, look.has_pages and free >= look.own_rss // 2 and most <= look.asked + free // 2


def remedy(r, look):
    own = [r.text(a["module"]) for a in r.tables["allocators"]]
    if not look.row["has"] & MAKERS or any(not name.rpartition("/")[2].startswith(tuple(ALLOCATORS)) for name in own):
        return None
    loaded = [r.text(m["path"]).rpartition("/")[2] for m in r.tables["modules"] if m["image"] == r.meta["n_images"]]
    return next((words for library, words in ALLOCATORS.items() if any(n.startswith(library) for n in loaded)), None)
