"""Every finding: the forms that its sentence has, and what their figures must be.

A sentence that has none of these forms is an error, and so is a number that no form accounts for.
"""

import itertools
import re
from bisect import bisect_left

import addresses
import memory
import memory_sentences
from figures import BYTES, COUNT, PERCENT, SPAN, TIME, in_bytes, in_percent, in_span, in_time
from recorded import ATTACHED, bursts, is_brief, is_left, lives, rises, steady, straightness, stretch, times_above, waves

UNREACHABLE, CYCLE = 3, 5
LIMIT = rf"(?:; at this rate the limit of (?P<limit>{BYTES}) of its container is reached in (?P<limit_in>{TIME}))?"
GROWTH = (rf"(?:grew at an even (?P<even>{BYTES})/s(?P<to_end> to the end)?|"
          rf"grew evenly by (?P<evenly>{BYTES})(?: in (?P<window>{SPAN}))?|"
          rf"grew by (?P<grown>{BYTES})(?: \((?P<rate>{BYTES})/s towards the end\))?)"
          rf"(?: from (?P<from>{TIME}) to (?P<to>{TIME}))?(?: \(\d\d:\d\d.*?\))?" + LIMIT)
OLD_FREED = rf"(?:; meanwhile (?:(?P<old_freed>{BYTES})|(?P<old_blocks>{COUNT}) blocks) from before the attach were freed)?"
FREED = rf"(?:(?P<at_end>; freed only at the end)|; held until (?P<until>{TIME}))?"
TURNOVER = rf"; blocks came and went: (?P<freed>{COUNT}) of (?P<made>{COUNT}) were freed"
ONCE = rf"(?:allocated once,|{PERCENT} of it allocated)"
TOP_ONCE = rf"(?:(?P<top>{BYTES}) were allocated once,|{PERCENT} of (?P<top_of>{BYTES}) were allocated)"
KEPT = (rf"(?P<who>.+): (?:(?P<blocks>{COUNT}) of (?P<of>{COUNT}) blocks?, )(?P<bytes>{BYTES}), "
        rf"(?:{GROWTH}{OLD_FREED}|{ONCE} in the first (?P<within>{TIME})|{ONCE} at (?P<once>{TIME})|"
        rf"(?:nearly )?stopped growing after (?P<stopped>{TIME})|nearly all of it allocated after (?P<after>{TIME})|"
        rf"(?P<anew>most of it in place of what was freed; )?(?:most of it in the first (?P<most>{TIME}); )?(?:the last of it )?allocated by (?P<last>{TIME}))(?:, and never freed)?(?:; (?:freed when|what line) .+)?\.")
PEAK = (rf"(?P<who>.+?)(?: and what it calls)? holds? (?P<bytes>{BYTES}) \((?P<share>{PERCENT}) of the peak\)"
        rf"(?P<itself> for itself(?P<alone>: the program's own code holds nothing)?)?(?:, of it (?P<split>.+?))?(?:, (?P<among>in|among it) (?P<twins>{COUNT}) blocks of exactly (?P<size>{BYTES}) each)?"
        rf"(?:; it grew by doubling, from (?P<small>{BYTES}) to (?P<large>{BYTES}): one reservation(?P<each> each time)? saves "
        rf"(?P<saved>{COUNT}) allocations and (?P<saved_bytes>{BYTES}))?"
        rf"(?:; it lasted (?P<lasted>{SPAN})(?:, up from (?P<before>{BYTES}))?(?:, on top of (?P<base>{BYTES}))?)?"
        rf"(?:; without it the largest heap is (?P<without>{BYTES}) at (?P<when>{TIME}))?"
        rf"(?:; (?P<start_who>its runtime|\S+) allocated (?P<start_up>{BYTES}) \((?P<start_share>{PERCENT}) of the peak\) for itself before "
        rf"the program allocated anything)?(?:; of the (?P<asked>{BYTES}), at most (?P<peak_rss>{BYTES}) were in memory \(the peak RSS\))?\.")
OF_RSS = rf"(?P<bytes>{BYTES}) \((?P<share>{PERCENT}) of RSS\)"
RUNNING = rf"(?:; (?P<running>{BYTES}) of it while (?P<runner>.+?) ran)?"
FORMS = {
    "peak": PEAK, "never-freed": KEPT,
    "at-start": rf"{KEPT}|(?P<who2>.+): {TOP_ONCE} in the first (?P<reached>{TIME}), "
                rf"and held (?:(?P<at_end>to the end)|(?P<since>since)|until (?P<until>{TIME}))\.",
    "allocated-once": rf"{KEPT}|(?P<who2>.+): {TOP_ONCE} at (?P<began>{TIME}), "
                      rf"and held (?:(?P<at_end>to the end)|(?P<since>since)|until (?P<until>{TIME}))\.",
    "growing": rf"(?P<who>.+): {GROWTH}, to (?P<top>{BYTES}){OLD_FREED}{FREED}\.",
    "stopped-growing": rf"(?P<who>.+): stopped growing at (?P<top>{BYTES}) after (?P<reached>{TIME})(?:{TURNOVER})?{FREED}\.",
    "steady": rf"(?P<who>.+): held (?:(?P<low>{BYTES}) to )?(?P<high>{BYTES}) from (?P<from>{TIME}) on{TURNOVER}\.",
    "bursts": rf"(?P<who>.+): holds up to (?P<top>{BYTES}), in (?P<least>at least )?(?P<n>\d+) bursts above half of that, "
              rf"of (?:about )?(?P<each>{SPAN})(?:, one every (?P<period>{TIME}))?\.",
    "churn": rf"(?P<who>.+) makes (?P<share>{PERCENT}) of the short-lived blocks \(freed within 1 ms or 16 "
             rf"allocations\): (?P<n>{COUNT}) in all, (?:(?P<per_s>{COUNT})/s|(?P<early>nearly all of them )?(?:within|in) (?P<pace>{SPAN}))(?:, (?P<how>always|usually) "
             rf"(?P<size>{COUNT}) bytes?)?(?: \(.+\))?\.",
    "one-size": rf"(?P<who>.+) allocates (?P<n>{COUNT}) blocks of (?P<size>{COUNT}) bytes? each on one path\.",
    "handed-over": rf"(?P<n>{COUNT}) blocks \((?P<bytes>{BYTES})\) allocated by thread (?P<from>.+) \((?P<from_tid>\d+)\) "
                   rf"were freed by thread (?P<to>.+) \((?P<to_tid>\d+)\)(?:; .+ allocated (?P<made>{COUNT}) blocks "
                   rf"\((?P<made_bytes>{BYTES})\))?\.",
    "unreachable": rf"(?P<others>{COUNT}) unreachable blocks? \((?P<others_bytes>{BYTES})\) (?:is|are) (?:suppressed|of call stacks without any function that is known)\.|"
                   rf"a pointer was found to (?:each of the (?P<all>{COUNT}) blocks that were|(?P<one>the only block that was)) live (?:just before the end|at {TIME})\.|"
                   rf"(?P<who>.+): (?P<cycle>a cycle of |cycles, all in all )?(?P<blocks>{COUNT}) blocks? \((?P<bytes>{BYTES})\) "
                   rf"that nothing (?:else )?points to"
                   rf"(?:, and (?P<owned>{COUNT}) blocks? \((?P<owned_bytes>{BYTES})\) that only (?:it leads|they lead) to)?"
                   rf"(?:; at (?P<before>{TIME}) a pointer was found to each of its (?P<held>{COUNT}) blocks?)?\.",
    "held-by": rf"(?P<who>.+?) holds (?P<bytes>{BYTES}) in (?P<blocks>{COUNT}) blocks?, (?P<share>{PERCENT}) of what lived "
               rf"(?:just before the end|at {TIME})(?P<steps>(?:: by|, by these) {COUNT} blocks? \({BYTES}\) of .+)?\.",
    "outside-growing": rf"resident memory beyond the largest heap so far grew by (?P<grown>{BYTES})(?: \((?P<rate>{BYTES})/s(?: towards the end)?\))? "
                       rf"from (?P<from>{TIME}) on; the heap by (?P<heap>{BYTES})"
                       rf'(?:; of its parts, "(?P<part>.+)" grew most, by (?P<most>{BYTES}) from (?P<first>{TIME}) to (?P<last>{TIME}))?\.',
    "rss-step": rf"RSS rose by (?P<rose>{BYTES}) from (?P<from>{TIME}) to (?P<to>{TIME}), to (?P<rss>{BYTES}); meanwhile "
                rf"(?P<who>.+) (?P<did>grew by|mapped) (?P<much>{BYTES})\.",
    "kept-by-malloc": rf"malloc keeps {OF_RSS} at (?P<when>the end|the detach|{TIME}) that are free; blocks held at most "
                      rf"(?P<most>{BYTES})(?: from (?P<since>{TIME}) on)?(?:; (?P<remedy>.+))?\.",
    "mapped-growing": rf"what (?P<who>.+) has mapped grew by (?P<grown>{BYTES}) \((?P<rate>{BYTES})/s\) "
                      rf"from (?P<from>{TIME}) on, to {OF_RSS} at (?P<when>the end|the detach|{TIME}){RUNNING}(?:; (?P<runtime>\S+) maps (?P<tells>.+))?\.",
    "mapped": rf"(?P<who>.+?) has mapped (?:(?P<least>at least) )?{OF_RSS}, which are in memory at (?P<when>the end|the detach|{TIME}){RUNNING}(?:; (?P<runtime>\S+) maps (?P<tells>.+))?\.",
    "resident": rf"{OF_RSS} at (?P<when>the end|the detach|{TIME}) (?:are (?P<part>shared memory|pages of the file|variables of|written pages of)"
                r"|were mapped (?P<before>before the attach|by no call that was recorded|by(?= thread )))(?:(?: \((?P<given>.+)\))? that (?P<who>.+) has mapped| (?P<name>.+))?\.",
    "thread-stacks": rf"stacks of threads hold {OF_RSS} at (?P<when>the end|the detach|{TIME})\.",
    "lazy-free": rf"{OF_RSS} were given back \(MADV_FREE\) at (?P<when>the end|the detach|{TIME}): they count until the kernel needs "
                 rf"memory, and then are gone(?:; (?P<who>.+) gave back most, (?P<much>{BYTES}) in (?P<calls>{COUNT}) calls?)?\.",
    "untouched": rf"(?P<who>.+): (?P<bytes>{BYTES}) of (?P<of>{BYTES}) in (?P<n>{COUNT}) live blocks? were not in memory at "
                 rf"(?P<when>the end|the detach|{TIME}), and are no part of RSS\.",
    "pins": rf"(?P<who>.+): (?P<of>{BYTES}) in (?P<n>{COUNT}) live blocks? keep {OF_RSS} in memory that are free on the same "
            rf"pages at (?P<when>the end|the detach|{TIME})\.",
    "huge-pages": rf"about {OF_RSS} of the heap are in memory at (?P<when>the end|the detach|{TIME}) without ever having been used, because they "
                  r"are parts of huge pages; prctl\(PR_SET_THP_DISABLE\) makes pages small\.",
    "swap": rf"beside RSS, {OF_RSS} are swapped out at (?P<when>the end|the detach|{TIME})\.",
    "runtime": rf"(?P<who>.+) holds (?P<bytes>{BYTES}) \((?P<share>{PERCENT}) of the peak\) for what it runs"
               rf"(?:, (?P<part>{BYTES}) of it in (?P<module>.+?))?"
               rf"(?:, (?P<asked>{BYTES}) (?:of it )?asked for by (?P<asker>.+?))?"
               r"(?P<own>; its own functions: heaptrack_print --bottom-up --lens fold=0)?\.",
    "no-lines": r".+ has (?:no file and line information: build it|file and line information only of a part: build the rest) with .+\.",
    "wrapper": rf"(?P<who>.+) makes (?P<share>{PERCENT}) of the allocations for (?P<n>{COUNT}) callers; to see those "
               r"instead: --fold '.+'\.",
    "all-freed": rf"(?P<what>nothing was left allocated|nothing allocated since the attach was left)(?: except (?P<bytes>{BYTES}) of the runtime itself, in (?P<n>{COUNT}) "
                 r"blocks?)?\.",
    "no-growth": rf"from (?P<from>{TIME}) to (?P<to>{TIME}) (?:nothing (?:that was recorded )?grew|"
                 rf"the heap (?:(?P<none>did not grow, nor did any function by 0.1 % of the peak)|as a whole did not grow|(?P<rose>rose to no more than it held before)|grew by (?P<bound>at most )?(?P<heap>{BYTES}) \((?P<share>{PERCENT}) of the peak\)))"
                 rf"(?:; the heap fell by (?P<fell>{BYTES}))?(?:; (?P<who>.+?) grew most, by (?P<much>{BYTES})(?P<again>, to what it held before)?"
                 rf"(?:, and held (?P<at_end>nothing|{BYTES}) at the end)?)?{OLD_FREED}\.",
}
# How the functions that a runtime runs get names: behind one sentence, the first about the runtime
FLAG = r"; to name the (?P<language>\w+) functions behind it, (?P<how>.+)\."
FLAGS = {
    "node": ("JavaScript", lambda exe: f"start it as {exe} --perf-basic-prof --interpreted-frames-native-stack"),
    "python": ("Python", lambda exe: "use Python 3.11 to 3.14"),
    "mono": ("C#", lambda exe: f"start it as {exe} --jitmap"),
    "R": ("R", lambda exe: "call Rprofmem() in the script"),
}


def value_of(number):
    """The bytes that a text says, and by how much they may be rounded."""
    amount, unit = number.split()
    scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
    return float(amount) * scale, 0 if unit == "B" else 0.051 * scale


def least_of(number):
    value, half = value_of(number)
    return value - half


class Sentence(memory_sentences.OfMemory):
    """A finding under judgement: what its text says, which of its numbers were accounted for."""

    def __init__(self, referee, finding):
        self.referee, self.recorded, self.finding = referee, referee.recorded, finding
        self.numbers, self.left = finding["numbers"], set(finding["numbers"])
        self.flag = re.search(FLAG, finding["text"])
        form = re.fullmatch(FORMS[finding["id"]], finding["text"][:self.flag.start()] + "." if self.flag else finding["text"])
        self.said = {name: text for name, text in form.groupdict().items() if text} if form else None

    def wrong(self, what, *figures):
        self.referee.wrong.append(f"{self.finding['id']}: {what} {figures or ''}: {self.finding['text']}")

    def number(self, name, *truths):
        """A number of the finding is one of these."""
        if name in self.numbers:
            self.left.discard(name)
            if self.numbers[name] not in truths:
                self.wrong(name, self.numbers[name], "but", *truths)

    def text(self, name, *truths):
        """A figure of the text, if it is there, is one of these."""
        if name in self.said and self.said[name] not in truths:
            self.wrong(f"the text's {name}", self.said[name], "but", *truths)

    def judge(self):
        if self.said is None:
            return self.wrong("no form that the referee knows")
        if self.flag:
            self.judge_flag()
        addresses.judge(self)
        getattr(self, "judge_" + self.finding["id"].replace("-", "_"))()
        for name in self.left:
            self.wrong(f"nothing judges its number {name}", self.numbers[name])

    def judge_flag(self):
        """It is the runtime's, no script's function has a name, and it is said once, of the first."""
        exe, findings = self.recorded.program(), self.referee.report["json"]["findings"]
        language, how = FLAGS.get(re.sub(r"[\d._-].*", "", exe), (None, lambda exe: None))
        if (self.flag["language"], self.flag["how"]) != (language, how(exe)):
            self.wrong("not what gives its scripts names", language)
        if next(f for f in findings if re.search(FLAG, f["text"])) is not self.finding or \
                sum(1 for f in findings if re.search(FLAG, f["text"])) > 1:
            self.wrong("said twice")
        if any(f["module"] is None and not re.match(r"generated code|\(callers", f["function"])
               for frames in self.referee.naming.frames.values() for f in frames):
            self.wrong("some have names")

    # ---- which stacks it is about

    def stacks(self, fits):
        """Those of the function it names, in the way that fits its numbers; else the first."""
        sets = self.referee.naming.candidates(self.finding["function"])
        return next((stacks for stacks in sets if fits(stacks)), sets[0])

    def left_of(self, stacks):
        blocks = [b for b in self.recorded.some(self.referee.naming.not_suppressed(stacks)) if is_left(b)]
        return len(blocks), sum(b.size for b in blocks)

    def but_noise(self, stacks, n, size):
        """Without the few stacks that leave the n blocks of a runtime that are in no accusation; or all of them."""
        left = {stack: self.left_of((stack,)) for stack in stacks}
        may_be = [stack for stack in stacks if 0 < left[stack][0] <= n and left[stack][1] <= size]
        for few in (1, 2, 3) if len(may_be) < 100 else (1,):
            for some in itertools.combinations(may_be, few):
                if (sum(left[stack][0] for stack in some), sum(left[stack][1] for stack in some)) == (n, size):
                    return tuple(stack for stack in stacks if stack not in some)
        return stacks

    def is_left_but_noise(self, n, size):
        """Without what a runtime keeps for itself behind it, which is in no accusation."""
        page, numbers = self.referee.report["facts"]["page"], self.numbers
        return 0 <= n - numbers["blocks"] <= page["noise_blocks"] and \
            0 <= size - numbers["bytes"] <= page["noise_bytes"]

    # ---- the peak

    def judge_peak(self):
        r, said, peak = self.recorded, self.said, self.recorded.peak
        stacks = self.stacks(lambda s: r.live_at(s, r.peak_ns) == self.numbers["bytes"])
        held = r.live_at(stacks, r.peak_ns)
        self.number("bytes", held)
        self.number("peak_bytes", peak)
        self.number("peak_ns", r.peak_ns)
        self.text("bytes", in_bytes(held))
        self.text("share", in_percent(held, peak))
        of_a_function = any(frame["function"] == self.finding["function"] for frames in
                            self.referee.naming.frames.values() for frame in frames)
        if ("itself" in said) == (of_a_function or "no symbols" in said["who"]):
            self.wrong("for itself, or for a function's work?")
        if ("alone" in said) != ("itself" in said and held == peak):
            self.wrong("is there anything else at the peak?", peak - held)
        if "itself" in said and held < peak and self.is_of_start_up(stacks):
            self.wrong("every such program has it before it does anything")
        self.judge_start_up()
        self.judge_peak_rss()
        curve = r.at_points(stacks)
        self.judge_spike(curve)
        most, when = max((a - b, -t) for a, b, t in zip(r.at_points(r.all), curve, r.edges))
        self.number("without_bytes", most)
        self.number("without_ns", -when)
        self.text("without", in_bytes(most))
        self.text("when", in_time(-when))
        alive = [b.size for b in r.some(stacks) if lives(b, r.peak_ns)]
        if "twins" in said:
            n, size = self.numbers["equal_blocks"], self.numbers["equal_size"]
            self.number("equal_blocks", min(n, alive.count(size)))
            self.number("equal_size", *alive)
            self.text("twins", f"{n:,}")
            self.text("size", in_bytes(size))
            if (said["among"] == "in") != (n * size == held):
                self.wrong("all of it, or a part?", n * size, held)
        self.judge_doubling(stacks)
        if "split" in said:
            self.judge_split(said["split"], held, stacks)

    def is_of_start_up(self, stacks):
        """All of it was allocated before anything that the user's own code asked for."""
        own = [stack for stack, frames in self.referee.naming.frames.items() if any(f["owner"] == "yours" for f in frames)]
        begin = min((b.birth for b in self.recorded.some(own)), default=0)
        return all(b.birth < begin for b in self.recorded.some(stacks))

    def judge_start_up(self):
        r, said = self.recorded, self.said
        if ("start_up" in said) != ("start_up_bytes" in self.numbers):
            self.wrong("what the runtime had before, or not?")
        if "start_up" in said:
            who = said["start_who"]
            sets = self.referee.naming.candidates(r.program() if who == "its runtime" else who)
            of = [r.live_at(stacks, r.peak_ns) for stacks in sets if self.is_of_start_up(stacks)]
            self.number("start_up_bytes", *of)
            self.text("start_up", *map(in_bytes, of))
            self.text("start_share", *(in_percent(bytes_, r.peak) for bytes_ in of))

    def judge_peak_rss(self):
        r, rss = self.recorded, self.recorded.summary["peak_rss_bytes"]
        is_swapped = any(look.row["swap_bytes"] for look in memory.looks_of(r))
        if ("peak_rss" in self.said) != (0 < rss < r.peak // 2 and not is_swapped and bool(r.meta["is_complete"])):
            self.wrong("was half of the peak never in memory, or not?", rss, r.peak)
        if "peak_rss" in self.said:
            self.number("peak_rss_bytes", rss)
            self.text("asked", in_bytes(r.peak))
            self.text("peak_rss", in_bytes(rss))

    def judge_spike(self, curve):
        r = self.recorded
        if "lasted_ns" in self.numbers:
            first, _, lasted = stretch(r.points, curve, r.edges.index(r.peak_ns))
            at = curve[r.edges.index(r.peak_ns)]
            low = first  # where it was lowest since it was as high the last time
            for i in range(first - 1, -1, -1):
                if curve[i] > at // 2 or curve[low] <= at // 20:
                    break
                low = i if curve[i] < curve[low] else low
            base = r.peak - at
            before = curve[low] if low < first and curve[low] > at // 20 else 0
            self.number("before_bytes", before)
            for name, value in (("before", before), ("base", base)):
                if (name in self.said) != (value > 0):
                    self.wrong(f"{name}, or not?", value)
                self.text(name, in_bytes(value))
            self.number("lasted_ns", lasted)
            self.number("base_bytes", base)
            self.text("lasted", in_span(lasted))

    def judge_doubling(self, stacks):
        if "doubling_steps" not in self.numbers:
            return
        sizes = {}
        for block in self.recorded.some(stacks):
            sizes.setdefault(block.size, []).append(block)
        ordered = sorted(size for size in sizes if size)
        small, large = (next((s for s in ordered if in_bytes(s) == self.said[name]), 0) for name in ("small", "large"))
        between = [s for s in ordered if small <= s <= large]
        self.number("doubling_steps", *range(6, len(between) + 1))
        of_one = max(len({b.size for b in self.recorded.of_stack[stack]}.intersection(between)) for stack in stacks)
        if of_one < self.numbers["doubling_steps"] // 3:
            self.wrong("no one stack asked for more and more: at most", of_one)
        n = sum(len(sizes[s]) for s in between if s != large)
        total = sum(s * len(sizes[s]) for s in between if s != large)
        for name, most in (("saved_allocations", n), ("saved_bytes", total)):
            self.number(name, min(most, self.numbers[name]))
            if self.numbers[name] < most // 2:
                self.wrong(name, "of", most)
        self.text("saved", f"{self.numbers['saved_allocations']:,}")
        self.text("saved_bytes", in_bytes(self.numbers["saved_bytes"]))

    def judge_split(self, text, held, stacks):
        parts = re.findall(rf"(?:^|, | and )(.*?) ({BYTES})(?=, | and |$)", text)
        low = high = 0
        for name, number in parts:
            value, half = value_of(number)
            low, high = low + value - half, high + value + half
            if name not in ("itself", "the rest"):
                below = self.recorded.live_at(self.referee.naming.through(name, stacks), self.recorded.peak_ns)
                if value - half > below:
                    self.wrong("of it", name, number, "at most", below)
        names = [name for name, _ in parts]
        if len(set(names)) < len(names) or any(self.said["who"].split(" ")[0] == name for name in names):
            self.wrong("one name for two parts, or for a part and the whole")
        is_all = "the rest" in text
        if low > held or (is_all and high < held):
            self.wrong("its parts sum to", low, high, "of", held)

    # ---- never freed, and what is held over time

    def judge_never_freed(self):
        r, numbers = self.recorded, self.numbers
        stacks = self.stacks(lambda s: sum(1 for _ in r.some(s)) == numbers["allocations"] and
                             self.is_left_but_noise(*self.left_of(s)))
        n, size = self.left_of(stacks)
        is_so = self.is_left_but_noise(n, size)
        self.number("blocks", numbers["blocks"] if is_so else n)
        self.number("bytes", numbers["bytes"] if is_so else size)
        self.number("allocations", sum(1 for _ in r.some(stacks)))
        self.text("blocks", f"{numbers['blocks']:,}")
        self.text("of", f"{numbers['allocations']:,}")
        self.text("bytes", in_bytes(numbers["bytes"]))
        kept = self.but_noise(self.referee.naming.not_suppressed(stacks), n - numbers["blocks"], size - numbers["bytes"])
        n, size = self.left_of(kept)
        curve, top = r.at_points(kept, True), self.recorded.live_at(kept, 1 << 63, True)
        self.judge_shape(curve, top, size - numbers["bytes"] if is_so else 0)
        self.judge_renewal(stacks, curve)
        if "most" in self.said:
            reached = next(t for t, v in zip(r.points, curve) if v >= top * 0.75)
            self.text("most", in_time(reached))
            if reached > r.meta["duration_ns"] / 10:
                self.wrong("that was not early", reached)
        if "after" in self.said:
            self.judge_after(kept)
        if ("the last of it" in self.finding["text"]) != ("last" in self.said and numbers["blocks"] > 1):
            self.wrong("the last of how many?", numbers["blocks"])
        if "last" in self.said:
            births = sorted(b.birth for b in r.some(kept) if is_left(b)) or [0]
            behind = max((b.birth for b in r.some(stacks)), default=births[-1])
            noise = min(n - numbers["blocks"], len(births) - 1)  # the runtime's own may have come last
            self.text("last", *(word for last in births[len(births) - 1 - noise:] for word in (
                in_time(last), in_time(min(self.referee.edge_behind(last), behind)))))

    def judge_after(self, kept):
        """All but a twentieth of it, and of what is a runtime's own, came behind a moment near the end."""
        r, noise = self.recorded, self.referee.report["facts"]["page"]["noise_bytes"]
        moments = [point for point in r.points if in_time(point) == self.said["after"]] or [r.end_ns]
        earlier = sum(b.size for b in r.some(kept) if is_left(b) and b.birth <= moments[0])
        if earlier > self.numbers["bytes"] / 20 + noise or moments[-1] < r.run_ns - r.run_ns // 10:
            self.wrong("so much came before, or that was early", earlier, moments)

    def judge_renewal(self, stacks, curve):
        """What took the place of what was freed is no growth, and nothing else took it."""
        if not max(curve, default=0):
            return
        held, kept = rises(self.recorded.points, self.recorded.at_points(stacks), curve)
        if "anew" in self.said and self.numbers["allocations"] - self.numbers["blocks"] >= self.numbers["allocations"] * 0.91:
            self.wrong("the rest of what comes and goes is accused")
        is_sure = abs(held - kept / 2) > kept / 100 + self.referee.report["facts"]["page"]["noise_bytes"]
        gone = sum(b.size for b in self.recorded.some(stacks)) - self.left_of(stacks)[1]
        is_much_gone = gone >= self.left_of(stacks)[1] / 2 or self.recorded.summary["old_freed_bytes"] > 0 or \
            self.unknown_frees() > 0
        if "anew" in self.said and not is_much_gone:
            self.wrong("less was freed than half of what was kept", gone)
        later, kept_later = rises(self.recorded.points, self.recorded.at_points(stacks), curve, 0.5)
        def is_of(wave, margin=1.1):
            points = self.recorded.points
            begin = next((t for t, v in zip(points, curve) if v > 0 and t >= points[-1] // 20), points[-1])
            return waves(points, self.recorded.at_points(stacks), curve, begin, margin) == wave
        if "grown_bytes" in self.numbers and is_of("last"):
            self.wrong("it is the last of waves")
        if is_sure and "anew" in self.said and held >= kept / 2 and later >= kept_later / 2 and not is_of("last", 0.9):
            self.wrong("not in place of what was freed: they rose by", held, kept)
        if is_sure and "grown_bytes" in self.numbers and held < kept / 2 and is_much_gone and \
                not ({"even", "evenly"} & set(self.said) and is_of("below", 0.9)) and \
                self.left_of(stacks)[0] < self.numbers["allocations"]:
            self.wrong("in place of what was freed: they rose by", held, kept)

    def judge_old_freed(self, is_due):
        freed, unknown = self.recorded.summary["old_freed_bytes"], self.unknown_frees()
        self.number("before_attach_freed_bytes", freed)
        self.number("before_attach_freed_blocks", unknown)
        self.text("old_freed", in_bytes(freed))
        self.text("old_blocks", f"{unknown:,}")
        if ("old_freed" in self.said) != (freed > 0 and is_due) or \
                ("old_blocks" in self.said) != (freed == 0 and unknown > 0 and is_due):
            self.wrong("what was freed from before the attach", freed, unknown)

    def unknown_frees(self):
        """Of blocks from before the attach, whose sizes nobody knows."""
        return self.recorded.quality["unknown_frees"] if self.recorded.meta["source"] == ATTACHED else 0

    def judge_turnover(self, stacks, since, held):
        if "freed" in self.said or "freed_blocks" in self.numbers:
            blocks = list(self.recorded.some(stacks))
            freed = sum(not is_left(b) for b in blocks)
            self.number("freed_blocks", freed)
            self.number("allocations", len(blocks))
            middle = since + (self.recorded.run_ns - since) // 2
            came = sum(b.size for b in blocks if b.birth > middle)
            if came < held // 4:
                self.wrong("hardly anything came in the second half", middle, came, held)
            self.text("freed", f"{freed:,}")
            self.text("made", f"{len(blocks):,}")

    def came_since(self, moment):
        """What came later, of what lived at some edge."""
        r = self.recorded
        stacks = self.referee.naming.candidates(self.finding["function"])
        return min(sum(b.size for b in r.some(s) if b.birth > moment and self.referee.edge_behind(b.birth) <
                       (b.death or 1 << 63)) for s in stacks)

    def judge_shape(self, curve, top, noise=0):
        """`noise`: bytes of the curve that may be the runtime's own, and in no accusation."""
        r, said = self.recorded, self.said

        def passed(part):
            """The first moment at so much of the top, wherever the runtime's own came before it."""
            least = (top - noise) * part
            first = next((i for i, v in enumerate(curve) if v >= least), 0)
            last = next((i for i, v in enumerate(curve) if v - noise >= least), first)
            return r.points[first:last + 1]
        reached, began = passed(0.95), passed(0.1)
        for name in ("within", "stopped", "reached"):
            self.text(name, *map(in_time, reached))
        for name in ("once", "began"):
            self.text(name, *map(in_time, began))
        self.number("stopped_ns", *reached)
        self.number("reached_ns", *reached)
        reached = reached[-1]
        if {"reached", "began"} & set(said) and "were allocated" in self.finding["text"]:
            came = self.came_since(reached + r.run_ns // 50)
            if came > top / 5:
                self.wrong("not once: so much came later", came)
        if "grown_bytes" in self.numbers:
            self.judge_growth(curve)

    def judge_held(self, curve):
        """Until when nine tenths were there, and what was left then."""
        r, said = self.recorded, self.said
        if not {"at_end", "until", "since"} & set(said):
            return
        least, noise = max(curve) * 0.9, self.referee.report["facts"]["page"]["noise_bytes"]
        until = [max(point for point, value in zip(r.points, curve) if value + allowed >= least)
                 for allowed in (0, noise)]
        if curve[-1] >= max(curve) / 10 and said.get("at_end", "").startswith(";"):
            self.wrong("at the end it still held", curve[-1])
        if "since" in said and curve[-1] + noise < least:
            self.wrong("not since, at the end it held", curve[-1])
        if "at_end" in said and until[1] < r.end_ns - r.end_ns // 20 - 1:
            self.wrong("not to the end, but until", until[1])
        self.text("until", *(in_time(point) for point in r.points if until[0] <= point <= until[1]))

    def judge_growth(self, curve):
        r, numbers, said = self.recorded, self.numbers, self.said
        if numbers["from_ns"] not in r.points or numbers["to_ns"] not in r.points:
            return self.wrong("its window begins or ends at no moment of the time axis")
        at = {point: value for point, value in zip(r.points, curve)}
        grown = at[numbers["to_ns"]] - at[numbers["from_ns"]]
        begin = numbers["from_ns"]
        if not {"even", "evenly"} & set(said):  # then its last quarter counts
            begin += (numbers["to_ns"] - begin) * 48 // 63
        late = at[numbers["to_ns"]] - at[max(point for point in r.points if point <= begin)]
        rate = max(0, int(late * 1e9 / (numbers["to_ns"] - begin)))
        for name in ("from_ns", "to_ns"):
            self.left.discard(name)
        noise = self.referee.report["facts"]["page"]["noise_bytes"]
        self.number("grown_bytes", grown, *([numbers["grown_bytes"]] if 0 < grown - numbers["grown_bytes"] <= noise else []))
        window = numbers["to_ns"] - numbers["from_ns"]
        has_rate = window >= 1e9  # a second is needed to speak of bytes per second
        if ("rate_bytes_per_s" in numbers, bool({"even", "rate"} & set(said))) != (has_rate, has_rate):
            self.wrong("a rate, or not? It was measured over", window)
        elif has_rate and abs(numbers["rate_bytes_per_s"] - rate) > 1 + rate * 1e-9 + noise * 1e9 / window:
            self.wrong("rate", numbers["rate_bytes_per_s"], rate)
        self.left.discard("rate_bytes_per_s")
        for name in ("even", "rate"):
            self.text(name, in_bytes(numbers.get("rate_bytes_per_s", 0)))
        for name in ("grown", "evenly"):
            self.text(name, in_bytes(numbers["grown_bytes"]))
        self.text("window", in_span(window))
        if not {"even", "window", "from"} & set(said):
            self.wrong("in which time?")
        self.text("from", in_time(numbers["from_ns"]))
        self.text("to", in_time(numbers["to_ns"]))
        if "to_end" in said and numbers["to_ns"] < r.end_ns * 98 // 100 - 100:
            self.wrong("not to the end, but to", numbers["to_ns"])
        line = straightness(r.points, curve, numbers["from_ns"], numbers["to_ns"])
        if bool({"even", "evenly"} & set(said)) != (line > 0.95) and abs(line - 0.95) > 0.01:
            self.wrong("even, or not: a line explains", line)
        def is_replaced(came, live, freed):
            return freed > 0 and freed >= came // 2 and max(0, live - freed) < came // 2
        live = [b.size for b in r.blocks if is_left(b)]
        self.judge_old_freed(is_replaced(grown, sum(live), r.summary["old_freed_bytes"]) or
                             is_replaced(numbers.get("blocks", 0), len(live), self.unknown_frees()))
        if "limit_in_ns" in numbers:
            limit, last = r.meta["memory_limit_bytes"], r.tables["samples"][-1]
            used = last["rss_bytes"] - last["ours_bytes"]
            truth = (limit - used) * 1e9 / numbers["rate_bytes_per_s"]
            self.number("limit_in_ns", *range(int(truth) - 1, int(truth) + 2))
            self.text("limit", in_bytes(limit))
            self.text("limit_in", in_time(numbers["limit_in_ns"]))

    def judge_level(self):
        r, numbers, said = self.recorded, self.numbers, self.said
        to_ns = numbers.get("to_ns")

        def top_of(stacks):
            curve = r.at_points(stacks)
            return curve[r.points.index(to_ns)] if to_ns in r.points else max(curve)
        def fits(stacks):
            curve, from_ns = r.at_points(stacks), numbers.get("from_ns")
            grown = top_of(stacks) - curve[r.points.index(from_ns)] if from_ns in r.points else None
            return top_of(stacks) == numbers["bytes"] and grown == numbers.get("grown_bytes")
        stacks = self.stacks(fits)
        curve = r.at_points(stacks)
        self.number("bytes", top_of(stacks))
        self.text("top", in_bytes(numbers["bytes"]))
        self.judge_turnover(stacks, numbers.get("stopped_ns", 0), max(curve))
        self.judge_shape(curve, max(curve))
        self.judge_held(curve)
        if "bursts" in numbers:
            n, each, period = bursts(r.points, curve)
            by_events = times_above([block for stack in stacks for block in r.of_stack[stack]])
            is_least = "least" in self.said
            if n > by_events or (n < by_events and not is_least):
                self.wrong("other bursts than those by single events", by_events)
            self.number("bursts", n)
            self.number("lasted_ns", each)
            self.number("period_ns", period)
            self.text("n", str(n))
            self.text("each", in_span(each))
            if not is_least:
                self.text("period", in_time(period))

    def judge_steady(self):
        r, numbers = self.recorded, self.numbers
        wanted = True, numbers["from_ns"], numbers["low_bytes"], numbers["bytes"]
        stacks = self.stacks(lambda s: steady(r.points, r.at_points(s)) == wanted)
        is_so, from_ns, low, high = steady(r.points, r.at_points(stacks))
        if not is_so:
            self.wrong("it did not hold so")
        for name, value in (("from_ns", from_ns), ("low_bytes", low), ("bytes", high)):
            self.number(name, value)
        self.text("low", in_bytes(low))
        self.text("high", in_bytes(high))
        self.text("from", in_time(from_ns))
        if "low" not in self.said and in_bytes(low) != in_bytes(high):
            self.wrong("it was lower, too", low)
        self.judge_turnover(stacks, from_ns, high)

    judge_growing = judge_stopped_growing = judge_bursts = judge_level

    def judge_at_start(self):
        (self.judge_never_freed if "blocks" in self.numbers else self.judge_level)()

    judge_allocated_once = judge_at_start

    def judge_no_growth(self):
        r, numbers = self.recorded, self.numbers
        run = r.meta["duration_ns"]

        heap_at = dict(zip(r.edges, r.at_points(r.all)))

        def edge_at(until, reach):
            """The last edge until then; if the heap had been as large before, that of the smallest since, not long ago."""
            heap = {t: held for t, held in heap_at.items() if t <= until}
            last = max(heap)
            as_large = next(t for t in heap if heap[t] >= heap[last])
            since = [t for t in heap if t > as_large and t + reach >= until]
            return min([last, *since], key=lambda t: (heap[t], -t))
        own = [s for s, frames in self.referee.naming.frames.items() if any(f["owner"] == "yours" for f in frames)]
        begin = min((b.birth for b in r.some(own)), default=0)

        def had_as_much():
            """It rose, to no more than it had held before it fell: that is no growth."""
            held = r.live_at(r.all, near_end)
            return held > heap_at[halfway] and any(heap_at[t] >= held for t in heap_at if t < halfway)
        for reach in (run // 5, run // 20 * 7):
            halfway, near_end = edge_at(run // 2, reach), edge_at(run - run // 20, reach)
            if not had_as_much():
                break
        before = {next((t for t in r.edges if t >= b.birth), 0) for b in r.blocks if b.birth <= begin}
        if numbers["from_ns"] in before:  # the first with what the runtime had before
            halfway = max(halfway, numbers["from_ns"])
        near_end = near_end if near_end >= halfway + run // 10 else run  # it did nothing later
        self.number("from_ns", halfway)
        self.number("to_ns", near_end)
        self.text("from", in_time(halfway))
        self.text("to", in_time(near_end))

        def grown(stacks):
            return max(0, r.live_at(stacks, near_end) - r.live_at(stacks, halfway))
        if self.finding["function"]:
            stacks = self.stacks(lambda s: grown(s) == numbers["grown_bytes"])
            self.number("grown_bytes", grown(stacks))
            self.judge_site_that_grew(stacks, halfway, near_end)
        elif {"heap", "none", "rose"} & self.said.keys():  # a site of which nothing is said
            self.left.discard("grown_bytes")
        else:
            self.number("grown_bytes", max(0, grown(())))
        is_little = 0 < numbers["grown_bytes"] < r.peak // 1000 and grown(r.all) <= 0
        if ("none" in self.said) != is_little or \
                ("rose" in self.said and not self.finding["function"] and numbers["grown_bytes"] >= r.peak // 1000):
            self.wrong("a thousandth of the peak, or not?")
        fell = r.live_at(r.all, halfway) - r.live_at(r.all, near_end)
        if ("fell" in self.said) != (fell > r.peak // 10 and numbers["grown_bytes"] < r.peak // 1000):
            self.wrong("did the heap fall?", fell)
        self.text("fell", in_bytes(fell))
        for function in self.referee.naming.heaviest(12):
            sets = self.referee.naming.candidates(function)
            if min(map(grown, sets)) > numbers["grown_bytes"]:
                self.wrong("more grew", function, list(map(grown, sets)))
        self.judge_heap(0 if had_as_much() else grown(r.all))
        if ("rose" in self.said) != had_as_much() and "again" in self.said:
            self.wrong("had the heap held as much before?")
        self.text("much", in_bytes(numbers["grown_bytes"]))

    def judge_heap(self, grown):
        """As a whole it grew by so much; by less, where blocks that nobody knows were freed."""
        self.number("heap_grown_bytes", grown)
        is_bound = self.recorded.summary["old_freed_bytes"] > 0 or self.unknown_frees() > 0
        if ("heap" in self.said) != (grown > 0) or ("bound" in self.said) != (is_bound and grown > 0):
            self.wrong("did the heap grow?", grown)
        self.text("heap", in_bytes(grown))
        self.text("share", in_percent(grown, self.recorded.peak))
        self.judge_old_freed(True)

    def judge_site_that_grew(self, stacks, halfway, near_end):
        """If that was much, whether it had held as much before, and what was left of it."""
        r, kept = self.recorded, self.referee.naming.not_suppressed(stacks)
        at_end = sum(b.size for b in r.some(kept) if is_left(b))
        is_much = self.numbers["grown_bytes"] >= r.peak // 10
        before = max((held for t, held in zip(r.edges, r.at_points(stacks)) if t < halfway), default=0)
        if ("again" in self.said) != (is_much and before >= r.live_at(stacks, near_end)):
            self.wrong("had it held as much before?", before)
        if ("at_end" in self.said) != is_much:
            self.wrong("that was much, or not?")
        if "at_end" in self.said:
            held, half = (0, 0) if self.said["at_end"] == "nothing" else value_of(self.said["at_end"])
            noise = self.referee.report["facts"]["page"]["noise_bytes"]  # what a runtime keeps is no site's
            if not at_end - noise - half <= held <= at_end + half:
                self.wrong("at the end it held", at_end)

    # ---- short-lived, of one size, handed over

    def judge_churn(self):
        r, numbers, said = self.recorded, self.numbers, self.said

        def counts(stacks):
            blocks = list(r.some(stacks))
            return sum(map(is_brief, blocks)), len(blocks)
        stacks = self.stacks(lambda s: counts(s) == (numbers["short_lived"], numbers["allocations"]))
        brief, made = counts(stacks)
        per_s = int(brief * 1e9 / r.meta["duration_ns"])
        self.number("short_lived", brief)
        self.number("allocations", made)
        births = [b.birth for b in r.some(stacks)]
        worked = max(births, default=0) - min(births, default=0)
        half, of_stack = r.meta["duration_ns"] // 2, {}
        for block in r.some(stacks):
            of_stack.setdefault(block.stack, []).append(block)
        ended = [b for of in of_stack.values() if max(b.birth for b in of) - min(births) < half for b in of]
        is_early = worked >= half and sum(map(is_brief, ended)) >= brief // 10 * 9
        if ("early" in said) != is_early:
            self.wrong("at its start, or all the time?", len(ended))
        worked = max(b.birth for b in ended) - min(births) if is_early else worked
        if ("per_s" in said) != (worked >= max(r.meta["duration_ns"] // 2, 1e9)):
            self.wrong("at work all the time, or not?", worked)
        self.number("within_ns", worked)
        self.text("pace", in_span(worked))
        self.number("per_s", per_s)
        self.text("share", in_percent(brief, sum(map(is_brief, r.blocks))))
        self.text("n", f"{brief:,}")
        self.text("per_s", f"{per_s:,}")
        sizes = [b.size for b in r.some(stacks) if is_brief(b)]
        if "size" in numbers:
            share = sizes.count(numbers["size"]) / max(len(sizes), 1)
            self.left.discard("size")
            self.text("size", f"{numbers['size']:,}")
            if share < (1 if said["how"] == "always" else 0.8):
                self.wrong(f"{said['how']} {numbers['size']} bytes: of", share)

    def judge_one_size(self):
        r, numbers = self.recorded, self.numbers
        best = 0
        for stack in self.referee.naming.candidates(self.finding["function"])[0]:
            of_thread = {}
            for block in r.of_stack[stack]:
                if block.size == numbers["size"]:
                    of_thread[block.stack[1]] = of_thread.get(block.stack[1], 0) + 1
            best = max([best, *of_thread.values()])
        self.number("blocks", best)
        self.left.discard("size")
        self.text("n", f"{best:,}")
        self.text("size", f"{numbers['size']:,}")

    def judge_unreachable(self):
        """Against the rows of the newest look that asked: of all, or of the finding's place."""
        rows, sums = self.recorded.tables["grades"], ("blocks", "bytes", "owned_blocks", "owned_bytes")
        rows = [row for row in rows if row["look"] == max(r["look"] for r in rows)]
        lost = [row for row in rows if row["grade"] in (UNREACHABLE, CYCLE)]
        if "others" in self.said:  # of no place: no more than there are
            self.text("others", f"{self.numbers['blocks']:,}")
            self.text("others_bytes", in_bytes(self.numbers["bytes"]))
            self.left -= set(sums)
            if self.numbers["blocks"] > sum(row["blocks"] + row["owned_blocks"] for row in lost):
                self.wrong("more than the look found")
            return
        if "one" in self.said and sum(row["blocks"] for row in rows) != 1:
            self.wrong("not one block")
        if "all" in self.said or "one" in self.said:
            self.text("all", f"{sum(row['blocks'] for row in rows):,}")
            self.number("blocks", sum(row["blocks"] for row in lost))
            self.number("bytes", sum(row["bytes"] for row in lost))
            return
        chain_of = {row["stack"]: self.recorded.chain(self.recorded.tables["stacks"][row["stack"]]["node"]) for row in lost}
        truth = {tuple(sum(row[key] for row in lost if chain_of[row["stack"]] in stacks) for key in sums)
                 for stacks in self.referee.naming.candidates(self.finding["function"])}
        n, self.left = self.numbers, self.left - set(sums)
        own = n["blocks"] - n["owned_blocks"], n["bytes"] - n["owned_bytes"]
        if (*own, n["owned_blocks"], n["owned_bytes"]) not in truth:
            self.wrong("not what the look found", truth)
        blocks, size = (n["blocks"], n["bytes"]) if "cycle" in self.said else own
        self.text("blocks", f"{blocks:,}")
        self.text("bytes", in_bytes(size))
        self.text("owned", f"{n['owned_blocks']:,}")
        self.text("owned_bytes", in_bytes(n["owned_bytes"]))
        before = [row for row in self.recorded.tables["grades"] if row["look"] < rows[0]["look"]]
        before = [row for row in before if row["look"] == max(r["look"] for r in before)]
        held = {sum(row["blocks"] for row in before if self.recorded.chain(self.recorded.tables["stacks"][row["stack"]]["node"]) in stacks)
                for stacks in self.referee.naming.candidates(self.finding["function"])}
        if "held" in self.said:
            self.text("held", f"{n['held_before']:,}")
            self.left -= {"held_before"}
            if n["held_before"] not in held:
                self.wrong("not what the look before found", held)

    def judge_held_by(self):
        """Against the rows of the newest look that asked, summed up by root."""
        rows = self.recorded.tables["holders"]
        rows = [row for row in rows if row["look"] == max(r["look"] for r in rows) and row["above"] == 0]
        n = self.numbers
        found = [row for row in rows if (row["retained_bytes"], row["retained_blocks"]) == (n["bytes"], n["blocks"])]
        if not any(self.recorded.text(row["name"]) in self.said["who"] for row in found):
            self.wrong("no root holds that", rows)
        self.left -= {"bytes", "blocks"}
        self.number("held_bytes", sum(row["retained_bytes"] for row in rows))
        self.text("bytes", in_bytes(n["bytes"]))
        self.text("blocks", f"{n['blocks']:,}")
        self.text("share", in_percent(n["bytes"], n["held_bytes"]))
        if "steps" in self.said and not self.said["steps"].startswith(": by "):
            self.wrong("the first step")

    def judge_handed_over(self):
        r, numbers = self.recorded, self.numbers
        pairs = [(tuple(count), r.tables["threads"][a]["tid"], r.tables["threads"][b]["tid"])
                 for (a, b), count in r.handovers().items()]
        pair = max(pairs)
        found = [p for p in pairs if p[1:] == (numbers["from_tid"], numbers["to_tid"])] or [pair]
        self.number("from_tid", found[0][1])
        self.number("to_tid", found[0][2])
        self.number("blocks", pair[0][0])
        self.number("bytes", found[0][0][1])
        self.text("n", f"{pair[0][0]:,}")
        self.text("bytes", in_bytes(found[0][0][1]))
        self.text("from_tid", str(numbers["from_tid"]))
        self.text("to_tid", str(numbers["to_tid"]))
        if "allocated_blocks" in numbers:
            def made(stacks):
                blocks = list(r.some(stacks))
                return len(blocks), sum(b.size for b in blocks)
            wanted = numbers["allocated_blocks"], numbers["allocated_bytes"]
            n, size = made(self.stacks(lambda s: made(s) == wanted))
            self.number("allocated_blocks", n)
            self.number("allocated_bytes", size)
            self.text("made", f"{n:,}")
            self.text("made_bytes", in_bytes(size))

    # ---- what single events do not hold: as the file's tables say

    def judge_outside_growing(self):
        numbers, samples = self.numbers, self.recorded.tables["samples"]
        top, outside, heap = 0, {}, {}
        for sample in samples:
            top = max(top, sample["heap_bytes"])
            outside[sample["time_ns"]] = max(0, sample["rss_bytes"] - sample["ours_bytes"] - top)
            heap[sample["time_ns"]] = top
        starts = [t for t in outside if in_time(t) == self.said["from"]]
        fits = [(max(outside.values()) - outside[t], top - heap[t]) for t in starts] or [(0, 0)]
        self.number("grown_bytes", *(v - outside[t] for t in starts for v in outside.values()))
        self.number("from_ns", *starts)
        self.number("to_ns", *outside)
        if ("rate_bytes_per_s" in numbers) != (numbers["to_ns"] - numbers["from_ns"] >= 1e9):
            self.wrong("a rate, or not?")
        self.left.discard("rate_bytes_per_s")
        self.text("grown", in_bytes(numbers["grown_bytes"]))
        self.text("rate", in_bytes(numbers.get("rate_bytes_per_s", 0)))
        self.text("heap", *(in_bytes(grown) for _, grown in fits))
        last = memory.shown(self.recorded)
        since = [look for look in memory.looks_of(self.recorded)
                 if look.has_pages and numbers["from_ns"] <= look.row["time_ns"] <= last.row["time_ns"]]
        rose = {memory.WORDS[name]: since[-1].bytes[name] - since[0].bytes[name]
                for name in memory.PARTS if since and name not in ("heap_live", "ours")}
        part = max(rose, key=rose.get, default=None)
        if part is None or rose[part] <= 0 or not last.has_pages:
            return self.wrong("no part grew") if "part" in self.said else None
        self.number("part_grown_bytes", rose[part])
        for name, words in (("part", part), ("most", in_bytes(rose[part])), ("first", in_time(since[0].row["time_ns"])),
                            ("last", in_time(since[-1].row["time_ns"]))):
            self.text(name, words)
        return None if "part" in self.said else self.wrong("which part grew?", part)

    def judge_runtime(self):
        peak = self.recorded.peak
        least = max(self.recorded.live_at(s, self.recorded.peak_ns)
                    for s in self.referee.naming.candidates(self.said.get("module", self.said["who"])))
        held = self.numbers["bytes"]
        self.number("bytes", held if least <= held <= peak else least)
        self.text("bytes", in_bytes(held))
        self.text("share", in_percent(held, peak))
        self.text("who", self.recorded.program())
        if "part" in self.said:
            self.text("part", *(in_bytes(self.recorded.live_at(s, self.recorded.peak_ns))
                                for s in self.referee.naming.candidates(self.said["module"])))
        if "asked" in self.said:
            below = self.recorded.live_at(self.referee.naming.through(self.said["asker"], self.recorded.all),
                                          self.recorded.peak_ns)
            if least_of(self.said["asked"]) > min(below, held):
                self.wrong("asked for", "at most", below)
        if ("own" in self.said) == bool(self.flag):
            self.wrong("its own functions, or how to name the others")

    def judge_no_lines(self):
        self.number("bytes", min(self.numbers["bytes"], sum(b.size for b in self.recorded.blocks)))

    def judge_wrapper(self):
        r, numbers = self.recorded, self.numbers
        stacks = self.stacks(lambda s: sum(1 for _ in r.some(s)) == numbers["allocations"])
        made = sum(1 for _ in r.some(stacks))
        callers = self.referee.naming.callers(self.finding["function"], stacks)
        self.number("allocations", made)
        self.number("callers", callers)
        self.text("n", f"{callers:,}")
        self.text("share", in_percent(made, len(r.blocks)))

    def judge_all_freed(self):
        n, size = self.left_of(self.recorded.all)
        if ("since" in self.said["what"]) != (self.recorded.meta["source"] == ATTACHED):
            self.wrong("attached, or not?")
        self.number("runtime_blocks", n)
        self.number("runtime_bytes", size)
        self.text("n", f"{n:,}")
        self.text("bytes", in_bytes(size))
