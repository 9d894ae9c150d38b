"""Programs of which everything is known, made from a seed: names, sizes and numbers are random.

A case is a program with one thing to be said about it first. Each language (truth_cpp, truth_rust,
truth_nim) has a table NAME -> function(Draw) -> Case.
"""

import random
from dataclasses import dataclass, field
from string import Template


@dataclass
class Case:
    """A program's text, and what a report must say of it."""
    source: str
    ids: tuple            # the first finding is one of these rules'
    function: str = ""    # whom it is about; "": nobody
    numbers: dict = field(default_factory=dict)  # name: exact value, to be met within 1 %
    says: tuple = ()      # parts of its sentence
    accuses: tuple = ()   # other functions that may be spoken of as worth a change
    library: str = ""     # source of a library of others, linked from _deps/


def leaking_library(function, size):
    """C: a library whose function never frees what it allocates."""
    return f"""
#include <stdlib.h>
#include <string.h>
static char *volatile last; // or the compiler sees that nobody needs it
size_t {function}(int i) {{ char *p = malloc({size}); memset(p, i, {size}); last = p; return (size_t)(p[3] & 127); }}
"""


SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo wu xa ye zi lor min tar vek sol dra".split()
TAKEN = {"case", "main", "done"}


class Draw:
    """What a seed draws: names that mean nothing, and numbers."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.taken = set()

    def name(self):
        while True:
            word = "".join(self.random.choice(SYLLABLES) for _ in range(self.random.randint(3, 4)))
            if word not in self.taken | TAKEN:
                self.taken.add(word)
                return word

    def number(self, low, high):
        return self.random.randint(low, high)

    def text(self, template, **values):
        """The template with $a .. $f drawn as names, and the given values; and all of them."""
        drawn = {letter: self.name() for letter in "abcdef"} | values
        return Template(template).substitute(drawn), drawn

    def case(self, head, body, first, numbers=None, says=(), function="$a", accuses=(), library="",
             **values):
        """The program `head` + `body`; drawn names are filled into all that a report must say of it."""
        text, drawn = self.text(body, **values)

        def fill(part):
            for name, value in drawn.items():
                part = part.replace(f"${name}", str(value))
            return part
        return Case(head + text, first, fill(function), numbers or {}, tuple(map(fill, says)),
                    tuple(map(fill, accuses)), library)
