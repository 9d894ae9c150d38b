"""Files of KDE's heaptrack that nobody recorded: everything that the formats allow, by a seed."""

import collections

FUNCTIONS = ["main", "operator new(unsigned long)", "operator new[](unsigned long)",
             "operator new(unsigned int)", "__libc_start_main", "_start", "malloc", "f g h",
             "__static_initialization_and_destruction_0", "bar<int, std::vector<x> >::baz()",
             "ünïcode", "std::function<void (int)>::operator()(int) const", "operator<<",
             "(anonymous namespace)::x", "operator new(unsigned long, std::nothrow_t const&)"]
FILES = ["a.c", "/x/y/b.cpp", "c d.h"]
MODULES = ["/usr/bin/prog", "libc.so.6", "linux-vdso.so.1"]
SIZES = [0, 1, 8, 16, 24, 100, 4096, 1 << 20]
VERSIONS = {0: ["v 10000"], 1: ["v 10000 1", "v 10200"], 2: ["v 10100 2", "v 10250 2"],
            3: ["v 10400 3", "v 10650 3"]}


class File:
    def __init__(self, rng, version):
        self.rng, self.version = rng, version
        self.lines = [rng.choice(VERSIONS[version])]
        self.strings, self.infos, self.pointers = [], [], []
        self.live = collections.Counter()
        self.n_ips = self.n_traces = self.time = 0
        self.next_pointer = 0x1000

    def put(self, kind, *numbers):
        self.lines.append(" ".join([kind, *(f"{number:x}" for number in numbers)]))

    def text(self, kind, text):
        size = f"{len(text.encode()):x} " if self.version >= 3 else ""
        self.lines.append(f"{kind} {size}{text}")

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
            self.text("s", text)
        return self.strings.index(text) + 1

    def place(self):
        return [self.string(self.rng.choice(FUNCTIONS)), self.string(self.rng.choice(FILES)),
                self.rng.randrange(3000)]

    def ip(self):
        rng = self.rng
        numbers = [rng.randrange(1 << 47),
                   self.string(rng.choice(MODULES)) if rng.random() < .9 else 0]
        kind = rng.random()
        if kind < .15:
            numbers += [self.string(rng.choice(FUNCTIONS))]
        elif kind < .22:
            numbers += [0, self.string(rng.choice(FILES)), rng.randrange(300)]
        elif kind < .75:
            inlined = rng.choice([0, 0, 0, 1, 2]) if self.version >= 2 else 0
            for _ in range(1 + inlined):
                numbers += self.place()
        self.put("i", *numbers)
        self.n_ips += 1

    def trace(self):
        self.put("t", self.rng.randrange(1, self.n_ips + 1), self.rng.randrange(self.n_traces + 1))
        self.n_traces += 1

    def info(self):
        info = (self.rng.choice([*SIZES, self.rng.randrange(1 << 16)]),
                self.rng.randrange(self.n_traces + 1))
        if info not in self.infos:
            self.infos.append(info)
            self.put("a", *info)

    def event(self):
        rng = self.rng
        if rng.random() < .55 or not self.live:
            number = rng.randrange(len(self.infos))
            self.live[number] += 1
            self.put("+", number)
        else:
            alive = list(self.live)
            number = rng.choice(alive) if rng.random() < .7 else alive[-1]
            self.live[number] -= 1
            self.live += collections.Counter()  # drops what is zero
            self.put("-", number)

    def old_event(self):
        """Before format 1: size, stack and address."""
        rng = self.rng
        if rng.random() < .55 or not self.pointers:
            self.pointers.append(self.next_pointer)
            self.put("+", rng.randrange(1 << rng.randrange(1, 20)),
                     rng.randrange(self.n_traces + 1), self.next_pointer)
            self.next_pointer += rng.choice([16, 32, 4096])
        else:
            self.put("-", self.pointers.pop(rng.randrange(len(self.pointers))))

    def step(self):
        kind = self.rng.random()
        if kind < .05:
            self.ip()
        elif kind < .13 or self.n_traces == 0:
            self.trace()
        elif kind < .2 and self.version >= 1:
            self.info()
        elif kind < .24:
            self.time += self.rng.choice([0, 1, 10, 11, 1000])
            self.put("c", self.time)
        elif kind < .27:
            self.put("R", self.rng.randrange(1 << self.rng.randrange(1, 20)))
        elif kind < .274:
            self.lines.append(self.rng.choice(["", "# + 0", "# a comment"]))
        elif self.version == 0:
            self.old_event()
        elif self.infos:
            self.event()


def make(rng, version):
    """The text of a file; at times it ends early, behind some line."""
    file = File(rng, version)
    if rng.random() < .9:
        file.lines.append("X " + rng.choice(["./prog a b", "/usr/bin/a b  c é"]))
    if rng.random() < .95:
        file.put("I", rng.choice([4096, 65536]), rng.randrange(1 << 22))
    if version >= 2 and rng.random() < .3:
        file.lines.append("S leak:" + rng.choice(["fn1", "main", "libc*", "^foo$"]))
    for _ in range(rng.randrange(1, 6)):
        file.ip()
    for _ in range(rng.choice([3, 20, 200, 2000])):
        file.step()
    if rng.random() < .15:
        del file.lines[len(file.lines) * 2 // 3:]
    else:
        file.lines += ["", f"# strings: {len(file.strings)}", f"# ips: {file.n_ips}"]
    return "\n".join(file.lines) + "\n"
