"""Every number of --json, every line of the text report, the figures of --full and of the page.

A number or a line that nothing here knows is an error. UNJUDGED lists what single events do not hold.
"""

import bisect
import collections
import re

from figures import (BYTES, COUNT, PERCENT, SPAN, TIME, in_bytes, in_kde_words, in_percent, in_span, in_table, in_time)
from memory import judge_looks, judge_section, untouched_of
from naming import chain
from recorded import is_brief, is_left, lives

# Numbers of --json that are not recomputed, and why
UNJUDGED = {
    "version": "of the document", "schema": "of the document",
    "program.exit_status": "the kernel's word", "program.signal": "the kernel's word",
    "findings.numbers": "by the judge of its sentence", "quality.sentences.value": "by the judge of its sentence",
}
# Counters and facts that the collector wrote: held against the file's tables, read by themselves
OF_TABLES = {
    "program.pid": ("meta", "pid"), "program.started_ns": ("meta", "wall_start_ns"),
    "program.images": ("meta", "n_images"), "summary.duration_ns": ("meta", "duration_ns"),
    "summary.system_memory_bytes": ("meta", "system_memory_bytes"), "summary.failed": ("summary", "failed"),
    "summary.peak_rss_bytes": ("summary", "peak_rss_bytes"),
    "summary.before_attach_blocks": ("summary", "old_blocks"), "summary.before_attach_bytes": ("summary", "old_bytes"),
    "summary.before_attach_freed_blocks": ("summary", "old_freed_blocks"),
    "summary.before_attach_freed_bytes": ("summary", "old_freed_bytes"),
    "summary.peak_bytes_low": ("summary", "peak_low_bytes"), "summary.peak_bytes_high": ("summary", "peak_high_bytes"),
    "summary.lost_events": ("quality", "lost_events"), "summary.truncated_stacks": ("quality", "truncated_stacks"),
    **{f"quality.{name}": ("quality", name) for name in (
        "abandoned_hooks", "skipped_numbers", "unknown_frees", "double_allocations", "time_corrections",
        "children_forked", "children_executed", "detail_ends_ns", "events_dropped", "marks_dropped",
        "looks_refused", "runtime_mismatches")},
}
# Lists, each as a whole by a judge of its own. Not judged in them: the line of a frame, which is of the debug
# data (a sentence's place is held against it), and the timeline's min_bytes, of a period that --json does not say
CHANGES = {1: "given-back", 2: "given-back-lazily", 3: "locked", 4: "unlocked", 5: "memfd-created", 6: "named"}  # table 47
BY_LIST = {"timeline", "marks", "children", "allocators", "sites", "memory", "leaks"}


def leaves(value, path=""):
    """The path of every number of a document, without places in lists."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, (int, float)):
        yield path, value
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    else:
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}" if path else name)


def totals(recorded, suppressed):
    """The summary, counted."""
    r = recorded
    left = [b for b in r.blocks if is_left(b)]
    hidden = [b for b in r.some(suppressed) if is_left(b)]
    freed = sum(b.freed_by is not None for b in r.blocks)
    alive = sum(lives(b, r.peak_ns) for b in r.blocks)
    return {"allocations": len(r.blocks), "allocated_bytes": sum(b.size for b in r.blocks), "frees": freed,
            "reallocations": r.file.counts[4] + r.file.counts[12],
            "temporary": sum(b.is_temporary for b in r.blocks), "short_lived": sum(map(is_brief, r.blocks)),
            "peak_bytes": r.peak, "peak_blocks": alive, "peak_time_ns": r.peak_ns,
            "never_freed_blocks": len(left), "never_freed_bytes": sum(b.size for b in left),
            "suppressed_blocks": len(hidden), "suppressed_bytes": sum(b.size for b in hidden),
            "threads": len(r.tables["threads"]) - 1}


def judge_json(referee):
    r, document, wrong = referee.recorded, referee.report["json"], []
    truth = {f"summary.{name}": value for name, value in referee.totals.items()}
    truth |= {path: r.tables[table][0][field] for path, (table, field) in OF_TABLES.items()}
    for path, value in leaves({name: part for name, part in document.items() if name not in BY_LIST}):
        if path in truth:
            if value != truth[path]:
                wrong.append(f"--json: {path} is {value}, counted {truth[path]}")
        elif path not in UNJUDGED and not path.startswith("findings.numbers."):
            wrong.append(f"--json: nothing judges {path}: {value}")
    return wrong + judge_sites(referee) + judge_memory(referee) + judge_looks(referee) + judge_classes(referee) + judge_timeline(referee) + \
        judge_rows(referee)


def judge_sites(referee):
    """Every stack of every list, as its blocks say."""
    r, wrong = referee.recorded, []
    counted = {"peak": lambda b: lives(b, r.peak_ns), "never_freed": is_left,
               "temporary": lambda b: b.is_temporary, "allocations": lambda b: True}
    untouched = untouched_of(r)
    for name, table in referee.report["json"]["sites"].items():
        seen = collections.Counter()
        for site in table:
            stack = chain(site["stack"])
            blocks = r.of_stack.get(stack, [])
            some = [b for b in blocks if counted[name](b)]
            truth = {"bytes": sum(b.size for b in some), "blocks": len(some), "allocations": len(blocks),
                     "temporary": sum(b.is_temporary for b in blocks)}
            if untouched[stack] and not site.get("suppressed"):
                truth["untouched_bytes"] = untouched[stack]
            unknown = set(site) - set(truth) - {"stack", "suppressed"}
            if unknown:
                wrong.append(f"--json: nothing judges {sorted(unknown)} of sites.{name}")
            differ = {word: (site.get(word), truth[word]) for word in truth if site.get(word) != truth[word]}
            if differ:
                wrong.append(f"--json: sites.{name}: {differ} of {[f['function'] for f in site['stack']][:4]}")
            seen[stack] += 1
        missing = [s for s, blocks in r.of_stack.items() if s not in seen and any(map(counted[name], blocks))]
        if missing or max(seen.values(), default=1) > 1:
            wrong.append(f"--json: sites.{name} lacks {len(missing)} stacks, or has some twice")
    return wrong[:6]


def judge_classes(referee):
    """What blocks were is not in their events: held against the file's table."""
    r = referee.recorded
    truth = [{"look": c["look"], "kind": ("python", "nim", "cpp")[c["kind"]], "name": r.text(c["name"]) or None,
              "blocks": c["blocks"], "bytes": c["bytes"], "stack": r.chain(c["node"]),
              "retained_bytes": c["retained_bytes"] if c["kind"] == 2 else None,
              "objects_in_arenas": c["objects"] if c["kind"] == 2 else None} for c in r.tables["classes"]]
    said = [{**c, "stack": tuple(int(f["address"], 16) for f in c["stack"] if not f["inlined"])}
            for c in referee.report["json"]["leaks"]["classes"]]
    return [] if said == truth else [f"--json: leaks.classes: {said[:3]}, not {truth[:3]}"]


def judge_memory(referee):
    """Calls that map are no single events: held against their intervals, and what is left against the ranges."""
    r, memory, wrong = referee.recorded, referee.report["json"]["memory"], []
    edges, rows = r.tables["mapping_edges"], r.tables["mappings"]
    if memory is None:
        return ["--json: it has no memory"] if edges or r.tables["looks"] else []
    if not edges:
        figures = [value for name, value in memory.items() if name != "looks" and value]
        return [f"--json: memory has {figures}, and mappings were not recorded"] if figures else []
    never = 0xffff
    live = [0] * len(edges)
    of = [collections.Counter() for _ in rows]
    top = max(range(len(edges)), key=lambda k: edges[k]["bytes"])
    for v in r.tables["mapping_intervals"]:
        first, last = v["from"], len(edges) if v["until"] == never else v["until"]
        for k in range(first, last):
            live[k] += v["bytes"]
        row = of[v["stack"]]
        row["maps"] += v["count"]
        row["mapped_bytes"] += v["bytes"]
        row["peak_bytes"] += v["bytes"] * (first <= top < last)
        row["never_unmapped"] += v["count"] * (v["until"] == never)
    for span in r.tables["ranges"]:
        of[span["mapping"]]["never_unmapped_bytes"] += span["end"] - span["start"]
    if live != [edge["bytes"] for edge in edges]:
        wrong.append("--json: memory: its intervals are not its edges")
    truth = {"mapped_peak_bytes": live[top], "mapped_peak_time_ns": edges[top]["time_ns"],
             "never_unmapped_bytes": sum(row["never_unmapped_bytes"] for row in of)}
    differ = {word: memory.get(word) for word in {*truth, *memory} - {"mappings", "changes", "looks"} if memory.get(word) != truth.get(word)}
    if differ:
        wrong.append(f"--json: memory: {differ}, not {truth}")
    words = ("maps", "mapped_bytes", "peak_bytes", "never_unmapped", "never_unmapped_bytes")
    counted = collections.Counter((r.chain(row["node"]), *(sums[word] for word in words), bool(row["is_inside"]))
                                  for row, sums in zip(rows, of))
    said = collections.Counter((tuple(int(f["address"], 16) for f in row["stack"] if not f["inlined"]),
                                *(row[word] for word in words), row["by_allocator"]) for row in memory["mappings"])
    if said != counted:
        wrong.append(f"--json: memory.mappings: {list((said - counted).items())[:3]}, "
                     f"not {list((counted - said).items())[:3]}")
    words = ("calls", "bytes", "first_ns", "last_ns")
    counted = collections.Counter((r.chain(row["node"]), CHANGES[row["what"]], *(row[word] for word in words),
                                   bool(row["is_inside"])) for row in r.tables["changes"])
    said = collections.Counter((tuple(int(f["address"], 16) for f in row["stack"] if not f["inlined"]), row["what"],
                                *(row[word] for word in words), row["by_allocator"]) for row in memory["changes"])
    if said != counted:
        wrong.append(f"--json: memory.changes: {list((said - counted).items())[:3]}, "
                     f"not {list((counted - said).items())[:3]}")
    return wrong


def judge_timeline(referee):
    r, wrong = referee.recorded, []
    births, deaths, temporary = (sorted(moments) for moments in (
        (b.birth for b in r.blocks), (b.death for b in r.blocks if b.death is not None),
        (b.death for b in r.blocks if b.is_temporary)))
    timeline = referee.report["json"]["timeline"]
    for point, held in zip(timeline, r.along(r.all, [point["time_ns"] for point in timeline])):
        now = point["time_ns"]
        made, ended, gone = (bisect.bisect_right(moments, now) for moments in (births, deaths, temporary))
        truth = {"time_ns": now, "bytes": held, "blocks": made - ended, "allocations": made,
                 "temporary": gone}
        if set(point) != {*truth, "min_bytes"}:
            wrong.append(f"--json: nothing judges {sorted(set(point) ^ set(truth))} of the timeline")
        differ = {word: (point.get(word), value) for word, value in truth.items() if point.get(word) != value}
        if differ:
            wrong.append(f"--json: the timeline at {now}: {differ}")
    return wrong[:6]


def judge_rows(referee):
    """Marks, children and allocators are those of the file's tables."""
    r, document, wrong = referee.recorded, referee.report["json"], []
    marks = [{"name": r.text(m["name"]), "time_ns": m["time_ns"]} for m in r.tables["marks"]]
    children = [(c["pid"], c["peak_rss_bytes"]) for c in r.tables["children"]]
    if document["marks"] != marks:
        wrong.append(f"--json: marks: {document['marks']}, not {marks}")
    if [(c["pid"], c["peak_rss_bytes"]) for c in document["children"]] != children:
        wrong.append(f"--json: children: {document['children']}, not {children}")
    return wrong


# ---- what is said of the whole

def verdict(r):
    quality = r.quality
    if not r.meta["is_complete"]:
        return "incomplete: the recording has no end"
    if quality["recording_stopped_early"]:
        return f"incomplete: recorded to {in_time(quality['stopped_ns'])} of {in_time(r.meta['duration_ns'])}"
    if any(image["is_unrecorded"] for image in r.tables["images"]):
        return "incomplete: not recorded after an exec"
    if lost := quality["lost_events"]:
        return f"incomplete: {lost:,} event{'s' * (lost != 1)} lost"
    if quality["detail_ends_ns"]:
        return f"incomplete: no detail after {in_time(quality['detail_ends_ns'])}"
    if any(row["why"] for row in r.tables["allocators"]):
        return "incomplete: an allocator is not recorded"
    return "recording complete"


def growth(findings):
    """What the totals say of growth, and its title: of the heap if a finding is about it, else of the first one."""
    for f in sorted(findings, key=lambda f: f["id"] != "no-growth"):
        if f["id"] != "no-growth" and f["numbers"].get("grown_bytes"):
            n, is_most = f["numbers"], any(name.startswith("before_attach") for name in f["numbers"])
            if "rate_bytes_per_s" in n:
                return "growing", f"{in_bytes(n['rate_bytes_per_s'])}/s", "at most, " * is_most
            return "grew by", in_bytes(n["grown_bytes"]), "at most, " * is_most + f"in {in_span(n['to_ns'] - n['from_ns'])}, "
        if f["id"] == "no-growth":
            grown, times = f["numbers"]["grown_bytes"], [in_time(f["numbers"][n]) for n in ("from_ns", "to_ns")]
            has_grown = bool(grown and f["numbers"].get("heap_grown_bytes"))
            bound = "at most, " * (has_grown and any(name.startswith("before_attach") for name in f["numbers"]))
            between = f"{bound}between {times[0]} and {times[1]}"
            return ("heap grew", in_bytes(f["numbers"]["heap_grown_bytes"]), between) if has_grown else ("growing", "nothing", between)
    return "growing", "not measured", None


def judge_text(referee):
    """Each line is one that the referee knows, and says what was counted."""
    r, report, counted, wrong = referee.recorded, referee.report, referee.totals, []
    lines = report["text"].splitlines()
    title = lines[0]
    if f"   {in_time(r.meta['duration_ns'])}   {verdict(r)}   " not in title + "   ":
        wrong.append(f"text: its title says neither {in_time(r.meta['duration_ns'])} nor {verdict(r)}: {title}")
    paragraphs = join_paragraphs(lines[1:])
    sentences = [f"{f['title']}  {f['text']}" for f in report["json"]["findings"]]
    known = {" ".join(s.split()) for s in sentences} | \
        {" ".join(("! " + q["text"]).split()) for q in report["json"]["quality"]["sentences"]}
    for line in paragraphs["sentences"]:
        if " ".join(line.split()) not in known and not re.fullmatch(r" *… \d+ more in --json", line):
            wrong.append(f"text: a sentence that --json has not: {line}")
    left = counted["never_freed_bytes"] - counted["suppressed_bytes"]
    n_left = counted["never_freed_blocks"] - counted["suppressed_blocks"]
    growing, grows, window = growth(report["json"]["findings"])
    seconds = r.meta["duration_ns"] / 1e9
    expected = [("peak heap", in_bytes(r.peak), f"at {in_time(r.peak_ns)}", "peak RSS",
                 in_bytes(r.summary["peak_rss_bytes"]) if r.summary["peak_rss_bytes"] else "unknown", None),
                ("never freed", in_bytes(left), f"in {n_left:,} block{'s' * (n_left != 1)}" if n_left else "", growing,
                 grows, window),
                ("allocations", f"{len(r.blocks):,}", f"({int(len(r.blocks) / seconds):,}/s)" if seconds >= 1 else
                 f"in {in_time(r.meta['duration_ns'])}", "short-lived",
                 f"{counted['short_lived']:,}", f"({in_percent(counted['short_lived'], len(r.blocks))})")]
    for line, (*words, last) in zip(paragraphs["totals"], expected):
        form = re.fullmatch(r"  " + r" +".join(re.escape(word) for word in words if word) + r"(?:  (.+))?", line)
        if not form or (last and not (form[1] == last or (last.endswith(", ") and form[1].startswith(last)))):
            wrong.append(f"text: its totals are not {words} {last or ''}: {line}")
    if len(paragraphs["totals"]) - any("hooked" in line for line in paragraphs["totals"]) != 3 and r.blocks:
        wrong.append(f"text: its totals are {paragraphs['totals']}")
    six = [f"total runtime: {seconds:.2f}s.",
           f"calls to allocation functions: {len(r.blocks)} ({int(len(r.blocks) / seconds)}/s)",
           f"temporary memory allocations: {counted['temporary']} ({int(counted['temporary'] / seconds)}/s)",
           f"peak heap memory consumption: {in_kde_words(r.peak)}",
           f"peak RSS (including heaptrack overhead): {in_kde_words(r.summary['peak_rss_bytes'])}",
           f"total memory leaked: {in_kde_words(left)}"] + \
        [f"suppressed leaks: {in_kde_words(counted['suppressed_bytes'])}"] * (counted["suppressed_bytes"] > 0)
    for name in ("text", "full"):
        said = report[name].splitlines()[-len(six):]
        wrong += [f"{name}: {line}, not {truth}" for line, truth in zip(said, six) if line != truth]
    wrong += [f"text: a line that the referee does not know: {line}" for line in paragraphs["unknown"]]
    return wrong + judge_section(referee, paragraphs["memory"]) + judge_tables(referee, paragraphs["tables"]) + \
        judge_full(referee)


def join_paragraphs(lines):
    """The lines by what they are; a sentence over several lines is one."""
    found = {"sentences": [], "totals": [], "memory": [], "tables": [], "unknown": []}
    place = None
    for line in lines:
        if re.match(r"(PEAK|NEVER FREED|TEMPORARY|ALLOCATIONS)\b", line):
            place = "tables"
            found["tables"].append([line])
        elif line.startswith("MEMORY ") and not found["memory"]:
            place = "memory"
            found["memory"].append(line)
        elif line == "FINDINGS":
            place = "findings"
        elif line.startswith(("more: ", "total runtime")):
            place = "end"
        elif not line:
            place = place if place == "end" else None
        elif place == "end":
            continue
        elif place == "tables":
            found["tables"][-1].append(line)
        elif place == "memory":
            found["memory"].append(line)
        elif line.startswith("  ! ") or (place == "findings" and re.match(r"  \S", line)):
            place = place or "quality"
            found["sentences"].append(line)
        elif place in ("findings", "quality") and line.startswith("    "):
            found["sentences"][-1] += " " + line
        elif re.match(r"  (peak heap|never freed|allocations|hooked) ", line):
            found["totals"].append(line)
        elif re.match(r"  (growing|heap grew|grew by) ", line):  # where it has no room beside what was never freed
            found["totals"][-1] += " " + line
        elif line.startswith(("  The recorder saw no", "  The program allocated nothing")):
            place = "nothing"
        elif place != "nothing":
            found["unknown"].append(line)
    return found


def judge_tables(referee, tables):
    """The rows of a table sum to what was counted, and each is a site's."""
    r, wrong = referee.recorded, []
    kinds = {"PEAK": ("peak", r.peak, lambda b: lives(b, r.peak_ns)),
             "NEVER": ("never-freed", referee.totals["never_freed_bytes"] - referee.totals["suppressed_bytes"], is_left),
             "TEMPORARY:": ("temporary", None, lambda b: b.is_temporary),
             "ALLOCATIONS": ("allocations", None, lambda b: True)}
    for title, *rows in tables:
        metric, _, counts = kinds[re.match(r'\w+:?', title)[0]]
        blocks = [b for b in r.blocks if counts(b)]
        n = len(blocks) - (referee.totals["suppressed_blocks"] if metric == "never-freed" else 0)
        parts = {(in_table(p["bytes"]), f"{p['blocks']:,}") for p in referee.naming.parts(metric)}
        total = 0
        for row in rows:
            form = re.fullmatch(r"  (.*?) +([\d.]+[KMGT]?) +(<1|\d+) +([\d,]+)", row)
            if not form:
                wrong.append(f"text: a row of {metric} that the referee does not know: {row}")
                continue
            total += int(form[4].replace(",", ""))
            if form[3] == "0" and form[2] != "0" or form[3] == "100" and len(rows) > 1:
                wrong.append(f"text: a share of {metric} is rounded to none or to all: {row}")
            is_site = not form[1].startswith(("…", "(the runtime"))
            if is_site and (form[2], form[4]) not in parts:
                wrong.append(f"text: no site of {metric} has {form[2]} in {form[4]}: {row}")
        if total != n:
            wrong.append(f"text: the rows of {metric} sum to {total:,}, counted {n:,}")
    return wrong


def judge_full(referee):
    """The entries of --full: calls, peaks and temporary ones are of stacks that there are."""
    r, wrong = referee.recorded, []
    of_calls, of_peak = collections.Counter(), collections.Counter()
    for stack, blocks in r.of_stack.items():
        frames = referee.naming.frames.get(stack, [])
        while len(frames) > 1 and re.match(r"operator new(\[\])?\(unsigned (int|long)\)$", frames[0]["function"] or ""):
            frames = frames[1:]
        leaf = frames[0] if frames else {"function": "", "file": None, "line": None, "module": None}
        name = "" if re.search(r"\+0x[0-9a-f]+$", leaf["function"] or "+0x0") else leaf["function"]
        key = name, leaf["file"], leaf["line"], leaf["module"]
        of_calls[key] += len(blocks)
        of_peak[key] += sum(b.size for b in blocks if lives(b, r.peak_ns))
    calls = {(of_calls[key], in_kde_words(of_peak[key])) for key in of_calls}
    for n, peak in re.findall(r"^(\d+) calls to allocation functions with (\S+) peak consumption from$",
                              referee.report["full"], re.M):
        if (int(n), peak) not in calls:
            wrong.append(f"--full: no function has {n} calls and {peak} at the peak")
    for peak, n in re.findall(r"^(\S+) peak memory consumed over (\d+) calls from$", referee.report["full"], re.M):
        if (int(n), peak) not in calls:
            wrong.append(f"--full: no function consumed {peak} at the peak over {n} calls")
    return wrong[:4]


def judge_page(referee):
    """What is embedded in the page is what --json says; the page's own sentences are made of it."""
    facts, document, r, wrong = referee.report["facts"], referee.report["json"], referee.recorded, []
    counted = referee.totals | {"duration_ns": r.meta["duration_ns"], "failed": r.summary["failed"],
                                "peak_rss_bytes": r.summary["peak_rss_bytes"]}
    for name, value in counted.items():
        if facts["summary"][name] != value:
            wrong.append(f"page: {name} is {facts['summary'][name]}, counted {value}")
    if facts["page"]["peak_rss_time_ns"] != r.summary["peak_rss_time_ns"]:
        wrong.append(f"page: RSS was highest at {facts['page']['peak_rss_time_ns']} ns")
    if facts["quality"]["verdict"] != verdict(r):
        wrong.append(f"page: its verdict is {facts['quality']['verdict']}, not {verdict(r)}")
    for name in ("program", "summary", "quality", "findings", "marks", "allocators", "children"):
        if facts[name] != document[name]:
            wrong.append(f"page: its {name} are not those of --json")
    noise, kept = facts["page"]["noise_bytes"], counted["never_freed_bytes"] - counted["suppressed_bytes"]
    if noise > kept:
        wrong.append(f"page: the runtime keeps {noise} B of {kept} B")
    return wrong


def judge_lists(referee):
    """The page lists what --by site does, which is held against the rows of the text; and of all blocks."""
    r, counted, wrong = referee.recorded, referee.totals, []
    n_left = counted["never_freed_blocks"] - counted["suppressed_blocks"]
    all_blocks = {"peak": counted["peak_blocks"], "never-freed": n_left, "temporary": counted["temporary"],
                  "allocations": len(r.blocks)}
    for metric, listed in referee.report["listed"].items():
        said = collections.defaultdict(lambda: [0, 0])
        for part in referee.naming.parts(metric):
            if part["blocks"]:
                label = "" if part["label"] == "(no stack)" else part["label"]
                said[label] = [said[label][0] + part["bytes"], said[label][1] + part["blocks"]]
        differ = sorted(name for name in {*said, *listed} if said.get(name) != listed.get(name))
        wrong += [f"page: by {metric}, {name} has {listed.get(name)}, and by the text {said.get(name)}" for name in differ[:3]]
        if sum(blocks for _, blocks in listed.values()) != all_blocks[metric]:
            wrong.append(f"page: the rows of {metric} do not sum to {all_blocks[metric]:,}")
    return wrong


ANSWERS = {
    "the verdict": r"recording complete|incomplete: ", "the peak": rf"peak heap +{BYTES}  at {TIME}",
    "what grows": rf"growing +(?:{BYTES}/s  \S|nothing  between {TIME}|not measured)|"
                  rf"heap grew +{BYTES}  (?:at most, )?between {TIME} and {TIME}|grew by +{BYTES}  (?:at most, )?in {SPAN}, \S",
    "what holds most": rf"FINDINGS\n(?:.*\n)*?.*(?:holds?|holds up to|were allocated|{COUNT} of {COUNT} blocks?|"
                       r"nothing grew|grew)\b",
    "how many": rf"short-lived +{COUNT}  \({PERCENT}\)"}


def missing_answers(head):
    """Which of them the first lines of a report do not give."""
    return [what for what, pattern in ANSWERS.items() if not re.search(pattern, head)]


def judge_first_screen(referee):
    """What holds most, what grows, how fast, is the recording complete: in the text's first lines and on the page."""
    if not referee.recorded.blocks:
        return []
    head, facts = "\n".join(referee.report["text"].splitlines()[:24]), referee.report["facts"]
    wrong = [f"text: {what} is not on its first screen" for what in missing_answers(head)]
    has_rate = any("grown_bytes" in f["numbers"] for f in facts["findings"])
    if not facts["quality"]["verdict"] or (not has_rate and "not measured" not in head):
        wrong.append("page: no verdict, or nothing on what grows")
    return wrong
