"""Where in code without names: "units, no symbols (93 % at units+0x48db; 80 % through units+0x798f)".

Where no name exists, a sentence names the addresses of which most of it is: the largest site, or the three
largest and the rest, and the deepest address through which three fifths of it come (docs/findings.md).
"""

import collections
import itertools
import re

import memory
from figures import PERCENT, in_percent
from recorded import is_brief, is_left, lives

PART = rf"{PERCENT} (?:at|through) [^\s,;()]+"
WHERE = re.compile(rf"(?P<who>\S[^;]*?), no symbols(?: \((?P<when>at the (?:peak|end), )?"
                   rf"(?P<parts>{PART}(?:[,;] {PART})*(?:, {PERCENT} elsewhere(?:; {PART})?)?)\))?"
                   r"(?=: | holds? | makes | allocated | grew most)")
# What the sentence of a rule counts, where it does not say "at the peak" or "at the end"
COUNTED = {"peak": "at the peak, ", "never-freed": "at the end, ", "at-start": "at the end, ",
           "allocated-once": "at the end, ", "churn": "short-lived", "handed-over": "allocated", "no-growth": "grown",
          "untouched": "not in memory", "pins": "kept around it"}


# Functions of the C library and the loader that keep what they allocate for themselves (docs/findings.md)
KEEPS = re.compile(r"(__GI_)?(_IO_|_dl_|__nss|__gconv|_nl_|setlocale|tzset|__tz|__new_exitfn|allocate_dtv|allocate_stack|"
                   r"__cxa_thread_atexit|__cxa_get_globals|_dlerror|__libc_alloc_buffer|call_init)")


def is_kept_by_libc(frames):
    """One of these stands before the first frame of the user's own."""
    libc = itertools.takewhile(lambda frame: frame["owner"] != "yours", frames)
    return any(KEEPS.match(frame["function"] or "") or (frame["module"] or "").rpartition("/")[2].startswith("ld-") for frame in libc)


def weigh(recorded, stacks, what, numbers):
    """What each stack counts for."""
    if what in ("not in memory", "kept around it"):
        look = memory.shown(recorded) if what == "not in memory" else memory.looks_of(recorded)[-1]
        of = collections.Counter()
        for u in look.untouched:
            of[recorded.chain(recorded.tables["stacks"][u["stack"]]["node"])] += \
                u["pinned_bytes"] if what == "kept around it" else u["asked_bytes"] - u["resident_bytes"]
        return {stack: of[stack] for stack in stacks if of[stack]}
    if what == "grown":  # of the stacks that did
        grown = {stack: recorded.live_at([stack], numbers["to_ns"]) - recorded.live_at([stack], numbers["from_ns"])
                 for stack in stacks}
        return {stack: more for stack, more in grown.items() if more > 0}

    def of(block):
        return {"at the peak, ": block.size * lives(block, recorded.peak_ns), "at the end, ": block.size * is_left(block),
                "short-lived": is_brief(block), "allocated": 1}[what]
    return {stack: sum(map(of, recorded.of_stack[stack])) for stack in stacks}


def expected(weights, frames, module):
    """What the parenthesis says, as (share, "at" or "through" or "elsewhere", the addresses that it may be)."""
    own, through, everything = collections.Counter(), collections.Counter(), sum(weights.values())
    for stack, weight in weights.items():
        passed = [f["function"] for f in frames[stack] if re.fullmatch(re.escape(module) + r"\+0x[0-9a-f]+", f["function"] or "")]
        own[passed[0]] += weight
        through.update({address: weight for address in set(passed)})
    said, rest, most = [], everything, everything // 5 * 3
    for _, weight in own.most_common(3):
        if weight <= everything // 20:
            break
        said.append((weight, "at", {a for a in own if own[a] == weight}))
        rest -= weight
        if weight > most:
            rest = 0
            break
    if 0 < rest < everything:
        said.append((rest, "elsewhere", {""}))
    deep = {address: weight for address, weight in through.items() if weight > most}
    least = min(deep.values(), default=0)
    near = {address: weight for address, weight in deep.items() if weight - least <= least // 20}
    if near and not any(own[address] > weight // 2 for address, weight in near.items()):
        said += [(max(near.values()), "through", set(near))]
    return said, through, everything


def fits(share, weight, everything, noise):
    if not noise:
        return share == in_percent(weight, everything)
    low, high = (100 * some / max(1, everything - noise) for some in (weight - noise, weight))
    return low - 0.51 <= float(share.strip("< %")) <= high + 0.51


def judge(sentence):
    """The shares and addresses of a sentence, or that it has none although they are all there is to name."""
    finding, naming, recorded = sentence.finding, sentence.referee.naming, sentence.recorded
    found = WHERE.search(finding["text"])
    what = (found and found["when"]) or COUNTED.get(finding["id"])
    if not found or not (finding["function"] or "").endswith(", no symbols"):
        return
    module = finding["function"].removesuffix(", no symbols")
    stacks = sentence.stacks(lambda _: True)
    noise = 0  # bytes that may be a runtime's own, and in no share
    if what == "at the end, ":
        n, size = sentence.left_of(stacks)
        stacks = naming.not_suppressed(stacks)
        noise = min(size, sentence.referee.report["facts"]["page"]["noise_bytes"])
        if "blocks" in finding["numbers"]:
            few = sentence.but_noise(stacks, n - finding["numbers"]["blocks"], size - finding["numbers"]["bytes"])
            if len(few) == len(stacks):  # more than a few
                few = tuple(stack for stack in stacks if not is_kept_by_libc(naming.frames[stack]))
            stacks = few
            noise = sentence.left_of(stacks)[1] - finding["numbers"]["bytes"]
    is_own = any(f["owner"] == "yours" and f["function"].startswith(module + "+0x") for s in stacks for f in naming.frames[s])
    parts = re.findall(rf"({PERCENT}) (at|through|elsewhere) ?([^\s,;()]*)", found["parts"] or "")
    if not what:
        if parts:
            sentence.wrong("of what are these shares?")
        return
    truth, through, everything = expected(weigh(recorded, stacks, what, finding["numbers"]), naming.frames, module)
    if not is_own or not everything:
        truth = []
    if [how for _, how, _ in parts] != [how for _, how, _ in truth]:
        return sentence.wrong("which addresses?", *truth)
    for (share, how, address), (weight, _, addresses) in zip(parts, truth):
        weight = through[address] if how == "through" else weight
        if address not in addresses or not fits(share, weight, everything, noise):
            sentence.wrong(f"{share} {how} {address}, but", in_percent(weight, everything), *addresses)
