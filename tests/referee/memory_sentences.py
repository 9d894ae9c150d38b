"""The sentences about resident memory: each figure held against looks, samples and mappings."""

import collections
import re

import memory
from figures import in_bytes, in_percent, in_time
from quality_lines import TELLS


class OfMemory:
    """What a Sentence judges of these findings; `self` is one."""

    def judge_of_look(self, look, held):
        """The figures that all sentences about a look have."""
        self.number("bytes", held)
        self.number("rss_bytes", look.rss)
        self.number("time_ns", look.row["time_ns"])
        self.text("bytes", in_bytes(held))
        self.text("share", in_percent(held, look.rss))
        self.text("when", memory.at_words(look))
        if not look.has_pages:
            self.wrong("which pages are resident is not known")

    def judge_kept_by_malloc(self):
        looks = [look for look in memory.looks_of(self.recorded) if memory.kept(self.recorded, look)[3]]
        if not looks:
            return self.wrong("no look says so, or not for a tenth of the run")
        look = max(reversed(looks), key=lambda look: memory.kept(self.recorded, look)[0])  # the newest of equals
        free, most, since, _ = memory.kept(self.recorded, look)
        self.judge_of_look(look, free)
        for name, value in (("most_bytes", most), ("since_ns", since)):
            self.number(name, value)
        self.text("most", in_bytes(most))
        self.text("since", in_time(since))
        if self.said.get("remedy") != memory.remedy(self.recorded, look):
            self.wrong("its remedy", memory.remedy(self.recorded, look))

    def judge_rss_step(self):
        r, numbers = self.recorded, self.numbers
        rss = {s["time_ns"]: s["rss_bytes"] for s in r.tables["samples"]}
        begin, end = (numbers[name] for name in ("from_ns", "to_ns"))
        if begin not in rss or end not in rss or not begin < end or begin <= r.meta["duration_ns"] // 10:
            return self.wrong("nobody read it then", (begin, end))
        if end - begin > 1e9 and any(begin < moment < end for moment in rss):
            self.wrong("it is no step", (begin, end))
        rose = rss[end] - rss[begin]
        for name, value in (("bytes", rose), ("rss_bytes", rss[end]), ("from_ns", begin), ("to_ns", end)):
            self.number(name, value)
        for name, words in (("rose", in_bytes(rose)), ("rss", in_bytes(rss[end])), ("from", in_time(begin)), ("to", in_time(end)),
                            ("much", in_bytes(numbers["site_bytes"]))):
            self.text(name, words)
        since, until = numbers["since_ns"], numbers["until_ns"]
        self.left -= {"since_ns", "until_ns"}
        function = self.finding["function"]
        if self.said["did"] == "mapped":
            calls, grown = memory.mapped_between(self.referee, function, since, until)
            self.number("site_bytes", grown)
        else:
            sets = self.referee.naming.candidates(function)
            self.number("site_bytes", *(r.live_at(s, until) - r.live_at(s, since) for s in sets))
            calls = [b.birth for s in sets for b in r.some(s)]
        if not calls:
            return self.wrong("it called nothing")
        if max(since, min(calls)) < begin - 1e9 or min(until, max(calls)) > end + 1e9 or not since <= begin < end <= until:
            self.wrong("not meanwhile", (since, until))
        if not rose / 2 <= numbers["site_bytes"] + 1 or numbers["site_bytes"] / 2 > rose + 1:
            self.wrong("it is not most of it", numbers["site_bytes"])

    def mapped_by_runtime(self, look, held):
        """Of an interpreter: what it is, and whose work most of it was mapped for."""
        self.text("runtime", self.recorded.program())
        self.text("tells", TELLS.get(re.sub(r"[\d._-].*", "", self.recorded.program())))
        of = collections.Counter()
        for site, size in memory.mapped_for(self.referee, look):
            of[site["function"], site["file"]] += size
        self.text("running", *(in_bytes(size) for (function, _), size in of.items() if size >= held // 2 and
                               memory.bare(self.said.get("runner", "").split(" ")[0]) == memory.bare(function)))

    def made_of(self, look, is_past=False):
        """What a maker may have mapped, and what of the look may be anybody's: of the past that is counted as its, too."""
        makers = memory.makers(self.referee, look)
        who = self.said["who"].rstrip(",")
        if who.startswith("thread ") and who not in makers:  # its module was not known yet
            makers[who] = max((of for name, of in makers.items() if name[0] == "t" and who.startswith(name)), default=(0, 0))
        rest = makers[memory.bare("others")][0]
        return {sums[0] + rest * is_past for sums in memory.made_by(makers, who)}, rest

    def judge_mapped_growing(self):
        looks = memory.looks_of(self.recorded)
        last, begin = looks[-1], next((i for i, look in enumerate(looks) if look.row["time_ns"] == self.numbers["from_ns"]), None)
        self.left.discard("from_ns")
        if begin is None:
            return self.wrong("nobody looked at", self.numbers["from_ns"])
        of = [self.made_of(look, look is not last)[0] for look in looks]
        held, grown = self.numbers["bytes"], self.numbers["grown_bytes"]
        self.judge_of_look(last, held if held in of[-1] else 0)
        self.number("grown_bytes", *(held - before for before in of[begin]))
        self.number("to_ns", last.row["time_ns"])
        self.text("grown", in_bytes(grown))
        self.text("from", in_time(self.numbers["from_ns"]))
        window = last.row["time_ns"] - self.numbers["from_ns"]
        rate = int(grown * 1e9 / max(1, window))
        self.number("rate_bytes_per_s", rate, rate + 1, max(0, rate - 1))
        self.text("rate", in_bytes(self.numbers["rate_bytes_per_s"]))
        if window < 1e9:
            self.wrong("too short for a rate", window)
        rises = of[begin:]
        steps = [max(b) - max(a) for a, b in zip(rises, rises[1:])]
        if min(steps, default=-1) < 0 or sum(step > 0 for step in steps) < 3 or steps[0] == 0:
            self.wrong("it fell, or did not rise three times", rises)
        if begin > 0 and of[begin - 1] and 0 < max(of[begin - 1]) < held - grown:
            self.wrong("it rose before", of[begin - 1])
        half = max(i for i, look in enumerate(looks) if i == begin or look.row["time_ns"] <= last.row["time_ns"] // 2)
        if held - max(of[half]) < grown // 4:
            self.wrong("it came at the start", of[half])
        if self.numbers["from_ns"] > last.row["time_ns"] // 2 or grown < max(8_000_000, last.own_rss // 10):
            self.wrong("not by much, or not for long", grown)
        self.mapped_by_runtime(last, held)

    def judge_mapped(self):
        look = memory.shown(self.recorded)
        own, rest = self.made_of(look)
        held = self.numbers["bytes"]
        self.judge_of_look(look, held if held in own else 0)
        self.text("least", "at least" if rest > held // 100 else None)
        least = 0 if "runtime" in self.said else (look.own_rss - look.heap) // 2  # of a runtime it is of interest in any case
        if held < least or held < look.own_rss // 10:
            self.wrong("not most of it", look.own_rss - look.heap)
        self.mapped_by_runtime(look, held)
        who = self.said["who"].split(" via ")[0]
        if any(f["id"] == "mapped-growing" and f["text"].startswith(f"what {who} has") for f in self.referee.report["json"]["findings"]):
            self.wrong("it is said already that this grew", who)

    def judge_resident(self):
        look, held, said = memory.shown(self.recorded), self.numbers["bytes"], self.said
        part = {"shared memory": "shared", "pages of the file": "files", None: "unknown"}.get(said.get("part"), "modules_written")
        part = "mapped" if said.get("before") in ("before the attach", "by") else part
        if said.get("who"):
            own = {sums[0] for sums in memory.made_by(memory.makers(self.referee, look, part), said["who"])}
        else:
            name = said.get("name") or ("before the attach" if part == "mapped" else "")
            own = {sum(p["resident_bytes"] for p in look.named(part)
                       if not p["mapping"] and self.recorded.text(p["name"]).rpartition("/")[2] == name)}
        self.judge_of_look(look, held if held in own else 0)
        if held < max(4_000_000, look.own_rss // 10, (look.own_rss - look.heap) // 2):
            self.wrong("not most of it", look.own_rss - look.heap)
        is_module = said.get("name") == self.recorded.text(self.recorded.meta["exe"]).rsplit("/", 1)[-1] or ".so" in (said.get("name") or "")
        if part in ("files", "modules_written") and is_module != (said["part"] == "variables of"):
            self.wrong("a module's, or not", said["name"])

    def judge_thread_stacks(self):
        look = memory.shown(self.recorded)
        self.judge_of_look(look, look.bytes["stacks"])

    def judge_lazy_free(self):
        look = memory.shown(self.recorded)
        self.judge_of_look(look, sum(look.lazy.values()))
        of = collections.defaultdict(lambda: (0, 0))
        for row in self.referee.report["json"]["memory"]["changes"]:
            if row["what"] == "given-back-lazily":
                site = memory.bare(memory.site_of(row["stack"])["function"])
                of[site] = of[site][0] + row["bytes"], of[site][1] + row["calls"]
        most = [site for site in of if of[site][0] == max(n for n, _ in of.values())]
        who = memory.bare(self.said["who"].split(" ")[0]) if self.said.get("who") else None
        if (who not in most) if most else who:
            self.wrong("another gave back most", most)
        elif who:
            self.text("much", in_bytes(of[who][0]))
            self.text("calls", f"{of[who][1]:,}")

    def judge_swap(self):
        look = memory.shown(self.recorded)
        self.judge_of_look(look, look.row["swap_bytes"])

    def judge_huge_pages(self):
        look = memory.looks_of(self.recorded)[-1]
        free, freed = memory.free_and_freed(self.recorded, look)
        held = min(look.row["huge_free_bytes"], free - freed)
        self.judge_of_look(look, held)
        if held < max(8_000_000, look.own_rss // 10):
            self.wrong("not much", held)

    def judge_pins(self):
        look = memory.looks_of(self.recorded)[-1]
        held, asked = self.judge_presence(look, lambda u: u["pinned_bytes"])
        self.number("rss_bytes", look.rss)
        self.text("share", in_percent(held, look.rss))
        most = memory.heap_since(self.recorded, look, look.row["time_ns"] - look.row["time_ns"] // 4)
        if held < max(4_000_000, 4 * asked, look.own_rss // 10) or most > look.asked + held // 2:
            self.wrong("not much, or not for long", held, asked, most)

    def judge_untouched(self):
        self.judge_presence(memory.shown(self.recorded), lambda u: u["asked_bytes"] - u["resident_bytes"])

    def judge_presence(self, look, measure):
        """What table 43 says of a site, by one of its measures, which is what the sentence is about."""
        tables, sums = self.recorded.tables, {}
        for u in look.untouched:
            sum_of = sums.setdefault(self.recorded.chain(tables["stacks"][u["stack"]]["node"]), [0, 0, 0])
            for i, value in enumerate((measure(u), u["asked_bytes"], u["blocks"])):
                sum_of[i] += value

        def figures(stacks):
            return tuple(sum(sums.get(s, (0, 0, 0))[i] for s in stacks) for i in range(3))
        wanted = tuple(self.numbers[name] for name in ("bytes", "asked_bytes", "blocks"))
        found = figures(self.stacks(lambda s: figures(s) == wanted))
        for name, value in zip(("bytes", "asked_bytes", "blocks"), found):
            self.number(name, value)
        self.number("time_ns", look.row["time_ns"])
        self.text("bytes", in_bytes(found[0]))
        self.text("of", in_bytes(found[1]))
        self.text("n", f"{found[2]:,}")
        self.text("when", memory.at_words(look))
        return found[:2]
