"""Every line on the quality of a recording: the forms that it has, and what its figures must be."""

import re

from figures import BYTES, COUNT, PERCENT, TIME, in_bytes, in_percent, in_time
from memory import judge_kill
from recorded import ATTACHED

TELLS = {"node": "JavaScript's objects itself; node --heap-prof tells of them",
         "python": "small objects itself; heaptrack --python-objects records them (not under python -E or -I)",
         "php": "what scripts hold itself; USE_ZEND_ALLOC=0 records it",
         "java": "Java's objects itself; jcmd PID GC.class_histogram tells of them",
         "ruby": "Ruby's objects itself; ObjectSpace.dump_all tells of them"}
# The lines above the totals, and the numbers that their "value" is
QUALITY = {
    "stopped-early": rf"the recording ended at (?P<stopped>{TIME}), the program ran on to (?P<run>{TIME}): what it did "
                     r"then is missing",
    "incomplete": rf"still recording, state at .+, {TIME} after the start \(or the collector was killed then\)",
    "killed": r"the (?:kernel killed the program|program (?:was ended by|exited with)) .+",
    "lost-events": rf"(?P<n>{COUNT}) events? \(allocations or frees\) could not be recorded, missing from the totals",
    "runtime": rf"(?P<n>{COUNT}) stacks? without the names of scripts: what the interpreter says of them does not fit",
    "abandoned": rf"(?P<n>{COUNT}) events? begun and never finished \(.+\)",
    "peak-range": rf"the peak is not exact: it lies between (?P<low>{BYTES}) and (?P<high>{BYTES})\. Some events arrived "
                  r"late, from threads that stalled in the middle of a call",
    "truncated-stacks": rf"the outer callers of (?P<n>{COUNT}) allocations? \((?P<share>{PERCENT})\) are not known: "
                        r"the sizes count; in the tree they begin at the outermost caller that is known",
    "folded-stacks": rf"the inner callers of at least (?P<n>{COUNT}) allocations? \((?P<share>{PERCENT})\) are not known, "
                     r"for want of room for more stacks: they count for the innermost caller that is known",
    "marks-dropped": rf"too many marks: dropped (?P<n>{COUNT}), kept the first ones",
    "missed-frees": rf"an address was handed out twice (?P<n>{COUNT}) times?: .+",
    "detail-ends": rf"the disk was nearly full: from (?P<at>{TIME}) on there are totals, but no more detail over time",
    "before-attach": rf"allocated before the attach: (?P<n>{COUNT}) blocks?, (?P<bytes>{BYTES}); (?:(?P<freed>{COUNT}) of "
                     rf"them, (?P<freed_bytes>{BYTES}), (?:was|were)|(?P<none>none of them was)) freed since\. They count only in resident memory",
    "before-attach-unknown": rf"blocks allocated before the attach are not known: (?:copying the program's memory takes "
                             rf"longer than (?P<bound>{TIME}) \(--max-pause allows more\)|the program's memory was not "
                             rf"copied \(--max-pause 0\)|the kernel refused to copy the program's memory|no heap of "
                             r"glibc's malloc was found|they are not looked for with --children)",
    "unknown-frees": rf"(?P<n>{COUNT}) (?:frees were of(?: other)? blocks|free was of (?:another|a) block) from before the attach, "
                     r"of which nothing is known",
    "missed-allocations": rf"(?P<n>{COUNT}) frees were of blocks whose allocation was not seen: .+",
    "not-hooked": r".+ (?:was|were) seen but not hooked: .+ is missing here",
    "unrecorded-image": rf"(?P<at>{TIME}) after the start the program became .+",
    "children": rf"(?P<least>at least )?(?P<n>{COUNT}) child process(?: was|es were) not recorded"
                rf"(?:; (?:the largest, )?(?P<name>.+?) \(pid (?P<pid>\d+)(?:, (?P<rss>{BYTES}) RSS)?\).*)?",
    "still-running": rf"(?P<n>{COUNT}) process(?:es)? still ran when the recording ended: what (?:it|they) held then counts as never freed",
    "no-mappings": "calls that map memory, such as mmap, were not recorded: what they mapped is not known",
    "no-looks": "what resident memory holds is not known: the kernel does not let this user read which pages the program "
                "has; root may",
    "mapped-before": "what was mapped before the attach is not among the mappings",
    "unnamed": rf"(?P<share>{PERCENT}) of the bytes at the peak come from (?:code|generated code) without names.*",
    "unread": rf"(?P<share>{PERCENT}) of the bytes at the peak have callers without names: functions of a runtime that could not be read",
}


def judge_quality(referee, line):
    """A line above the totals, held against the counters and tables of the file."""
    r, quality, summary = referee.recorded, referee.recorded.quality, referee.recorded.summary
    form = re.fullmatch(QUALITY.get(line["id"], "(?!)"), line["text"])
    if not form:
        return [f"{line['id']}: no form that the referee knows: {line['text']}"]
    said, wrong = form.groupdict(), []

    def hold(name, truth):
        if said.get(name) is not None and said[name] != truth:
            wrong.append(f"{line['id']}: {name} is {truth}, not {said[name]}: {line['text']}")
    n_children = quality["children_forked"] + quality["children_executed"]
    if line["id"] == "children":
        largest = max((c for c in r.tables["children"] if c["name"]), key=lambda c: c["peak_rss_bytes"], default=None)
        hold("rss", in_bytes(largest["peak_rss_bytes"]) if largest else "")
        hold("pid", str(largest["pid"]) if largest else "")
        hold("name", r.text(largest["name"]) if largest else "")
        is_least = bool(r.tables.get("processes")) or any(child["why"] for child in r.tables["children"])
        if (said["least"] is not None) != is_least:
            wrong.append(f"children: {'at least so many' if is_least else 'exactly so many'}: {line['text']}")
    if line["id"] in ("no-mappings", "mapped-before"):
        has_mappings = bool(r.tables["mapping_edges"])
        if has_mappings != (line["id"] == "mapped-before"):
            wrong.append(f"{line['id']}: calls that map were {'' if has_mappings else 'not '}recorded")
        if line["id"] == "mapped-before" and r.meta["source"] != ATTACHED:
            wrong.append("mapped-before: recorded from the start")
    if line["id"] == "killed" and line["text"].startswith("the kernel killed"):
        wrong += judge_kill(r, line["text"])
    if line["id"] == "before-attach":
        hold("bytes", in_bytes(summary["old_bytes"]))
        hold("freed", f"{summary['old_freed_blocks']:,}")
        hold("freed_bytes", in_bytes(summary["old_freed_bytes"]))
        hold("none", "none of them was" if summary["old_freed_blocks"] == 0 else "")
    if line["id"] == "before-attach-unknown":
        hold("bound", in_time(r.meta["max_pause_ns"]))
    if line["id"] == "peak-range":
        hold("low", in_bytes(summary["peak_low_bytes"]))
        hold("high", in_bytes(summary["peak_high_bytes"]))
    if line["id"] == "stopped-early":
        hold("stopped", in_time(quality["stopped_ns"]))
        hold("run", in_time(r.meta["duration_ns"]))
    if line["id"] == "detail-ends":
        hold("at", in_time(quality["detail_ends_ns"]))
    if line["id"] in ("truncated-stacks", "folded-stacks"):
        hold("share", in_percent(line["value"], len(r.blocks)))
    if line["id"] == "unread":
        hold("share", in_percent(line["value"], r.peak))
    if line["id"] == "unnamed":
        unnamed = r.live_at(referee.naming.unnamed(), r.peak_ns)
        hold("share", in_percent(line["value"], r.peak))
        if line["value"] > unnamed:
            wrong.append(f"unnamed: at most {unnamed} B, not {line['value']}")
    values = {"lost-events": quality["lost_events"], "before-attach": summary["old_blocks"],
              "runtime": quality.get("runtime_mismatches", 0),
              "still-running": sum(p["end_ns"] == 0 for p in r.tables.get("processes", [])[1:]),
              "abandoned": quality["skipped_numbers"] + quality["abandoned_hooks"],
              "children": n_children,
              "peak-range": summary["peak_high_bytes"] - summary["peak_low_bytes"],
              "marks-dropped": quality["marks_dropped"], "missed-frees": quality["double_allocations"],
              "detail-ends": quality["detail_ends_ns"], "no-mappings": 0, "mapped-before": 0, "no-looks": quality["looks_refused"], "unknown-frees": quality["unknown_frees"],
              "missed-allocations": quality["unknown_frees"], "stopped-early": quality["stopped_ns"],
              "before-attach-unknown": r.meta["max_pause_ns"], "truncated-stacks": line["value"]}
    truth = values.get(line["id"], line["value"])
    hold("n", f"{truth:,}")
    if line["value"] != truth:
        wrong.append(f"{line['id']}: its value is {line['value']}, not {truth}")
    return wrong
