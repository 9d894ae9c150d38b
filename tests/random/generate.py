#!/usr/bin/python3
"""A random program that knows its own truth: generate.py SEED [--kind KIND] writes it to stdout.

The program is functions fn_1 to fn_N that allocate, free, hand over and call each other by a fixed
random shape; what they do at run time follows from the seed as well. shadow.h counts the truth,
program.h holds what they are put together from. The same seed always gives the same program.

KIND is one of the names of KINDS: language, C library and how it is linked.
"""

import argparse
import random
import sys

KINDS = ("c", "c++", "static-c", "static-c++", "musl", "musl-static")
FEATURES = ("threads", "signals", "alarms", "jumps", "coroutines", "forks", "plugins", "short_threads")
ENDS = ("return {0}", "exit({0})", "_exit({0})", "quick_exit({0})", "abort()",
        "kill(getpid(), SIGKILL)")


class Program:
    """What is decided for a seed, and the text of it: `source`, and `plugins` by their names."""

    def __init__(self, seed, kind=None):
        self.seed = seed
        dice = self.dice = random.Random(seed)
        self.kind = kind or KINDS[seed % len(KINDS)]
        self.is_cpp = self.kind.endswith("c++")
        self.is_musl = self.kind.startswith("musl")
        self.is_static = "static" in self.kind
        self.features = {name for name in FEATURES if dice.random() < 0.55}
        if self.is_cpp:
            self.features.discard("jumps")
        if self.is_static:
            self.features.discard("plugins")
        self.is_ordered = dice.random() < 0.75
        self.has_exceptions = self.is_cpp and self.is_ordered
        self.lock = dice.choice(("LOCK_MUTEX", "LOCK_SPIN", "LOCK_PIPE", "LOCK_SEMAPHORE"))
        self.n_functions = dice.randint(4, 14)
        self.n_workers = dice.choice((1, 2, 3, 7)) if "threads" in self.features else 0
        self.n_ids = self.n_functions
        self.is_inlined = dice.random() < 0.5
        self.compiler, self.flags = self.pick_compiler()
        self.plugins = {}
        self.source = self.write()

    def pick_compiler(self):
        dice = self.dice
        if self.is_musl:
            compiler = "musl-gcc"
        elif dice.random() < 0.25:
            compiler = "clang++" if self.is_cpp else "clang"
        else:
            compiler = "g++" if self.is_cpp else "gcc"
        flags = ["-g", dice.choice(("-O0", "-O1", "-O2", "-O3", "-Os")), "-w", "-pthread",
                 dice.choice(("-fomit-frame-pointer", "-fno-omit-frame-pointer"))]
        if not compiler.startswith("clang"):
            flags.append("-fno-partial-inlining")  # its parts would be calls that nobody wrote
        if self.is_cpp:
            flags.append("-std=c++17")
        if self.is_static:
            flags.append(dice.choice(("-static", "-static-pie")) if not self.is_musl else "-static")
        elif not self.is_musl and dice.random() < 0.3:
            flags += ["-no-pie", "-fno-pie"]
        return compiler, flags

    # ---- functions

    def new_id(self):
        self.n_ids += 1
        return self.n_ids

    def some_inlining(self):
        if not self.is_inlined or self.dice.random() < 0.5:
            return "NOINLINE "
        return "inline " if self.is_cpp and self.dice.random() < 0.3 else ""

    def call(self):
        callee = self.dice.randint(1, self.n_functions)
        if self.dice.random() < 0.3:
            return f"table[{callee - 1}](h, depth - 1);"
        return f"fn_{callee}(h, depth - 1);"

    def allocate(self):
        dice = self.dice
        if self.is_cpp and dice.random() < 0.5:
            return dice.choice((
                "put(h, FREED_BY_DELETE, w_new(1 + some_size(h)));",
                "put(h, FREED_BY_DELETE_ARRAY, w_new_array(1 + some_size(h)));",
                "put(h, FREED_BY_DELETE, w_new_nothrow(1 + some_size(h)));",
                "put(h, FREED_BY_DELETE_ALIGNED, w_new_aligned(64 + some(h, 100) * 64));"))
        size = dice.choice(("some_size(h)", f"{dice.randint(0, 5000)}", "some(h, 64)"))
        which = dice.choice(("malloc", "malloc", "malloc", "calloc", "posix_memalign",
                             "aligned_alloc", "memalign"))
        return dice.choice((
            f"put(h, FREED_BY_FREE, w_{which}({size}));",
            f"put(h, FREED_BY_FREE, w_{which}({size}));",
            'put(h, FREED_BY_FREE, w_strdup("a text that is kept"));',
            'put(h, FREED_BY_FREE, w_strndup("cut off", some(h, 7)));'))

    def statement(self):
        """One thing that a function does, at least one of which often leads on to others."""
        dice = self.dice
        kinds = {
            "allocate": 10, "call": 9, "drop": 4, "burst": 3, "grow": 3, "share": 2, "fail": 0.3,
            "pad": 1, "signal": 1.5 * ("signals" in self.features),
            "jump": 1.5 * ("jumps" in self.features), "back": 1.5 * ("jumps" in self.features),
            "try": 2 * self.has_exceptions, "throw": 2 * self.has_exceptions,
            "coroutine": 1.5 * ("coroutines" in self.features),
            "yield": 3 * ("coroutines" in self.features),
        }
        kind = dice.choices(list(kinds), list(kinds.values()))[0]
        loops = dice.randint(1, 5)
        if kind == "allocate":
            return f"for (int i = 0; i < {loops}; i++) {{\n\t\t{self.allocate()}\n\t}}"
        if kind == "call":
            return f"if (depth > 0 && h->budget-- > 0) {{\n\t\t{self.call()}\n\t}}"
        if kind == "drop":
            return f"drop(h, {loops * 2});"
        if kind == "burst":
            return f"for (int i = 0; i < {loops * 3}; i++) {{\n\t\tw_free(w_malloc(some(h, 500)));\n\t}}"
        if kind == "grow":
            return ("{\n\t\tvoid *p = w_malloc(some(h, 100));\n"
                    f"\t\tfor (int i = 0; i < {loops}; i++) {{\n"
                    "\t\t\tp = w_realloc(p, 1 + some_size(h));\n\t\t}\n"
                    "\t\tput(h, FREED_BY_FREE, p);\n\t}")
        if kind == "pad":  # moves the frames below it about
            return "{\n\t\tvolatile char *pad = (char *)alloca(some(h, 3000) + 1);\n\t\tpad[0] = 1;\n\t}"
        if kind == "signal":
            return "if (!h->in_handler && some(h, 3) == 0) {\n\t\traise(SIGUSR1);\n\t}"
        if kind == "jump":
            return f"jump_to_{dice.randint(1, 2)}(h, depth);"
        if kind == "try":
            return f"try_{dice.randint(1, 2)}(h, depth);"
        if kind == "throw":
            return (f"if (h->tries && some(h, 3) == 0) {{\n\t\th->thrown = shadow_throw(sizeof(struct error_{loops}));\n"
                    f"\t\tthrow error_{loops}();\n\t}}")
        return {"share": "share(h);", "fail": "w_fail();", "back": "go_back(h);", "yield": "yield(h);",
                "coroutine": f"some_coroutine(h, body_{dice.randint(1, 2)});"}[kind]

    def function(self, i):
        cleanup = ""
        if self.has_exceptions and self.dice.random() < 0.4:  # allocates while an exception flies
            cleanup = "\tstruct cleanup cleanup_(h);\n"
        body = "".join(f"\t{self.statement()}\n" for _ in range(self.dice.randint(2, 7)))
        return (f"static {self.some_inlining()}void fn_{i}(struct here *h, int depth) {{\n"
                f"\tENTER({i});\n{cleanup}{body}\tLEAVE();\n}}\n")

    def entered(self, name, body, parameters="struct here *h", result="void"):
        """A function that is entered from elsewhere: its number is new, its name begins with it."""
        i = self.new_id()
        return f"static NOINLINE {result} fn_{i}_{name}({parameters}) {{\n\tENTER({i});\n{body}\tLEAVE();\n" + \
            ("\treturn NULL;\n" if "*" in result else "") + "}\n", f"fn_{i}_{name}"

    def jumps(self):
        text = ""
        for i in (1, 2):
            where, name = self.entered("jump", (
                "\tsigjmp_buf *outer = h->jump, mine;\n"
                "\tint in_handler_ = h->in_handler;\n"
                "\tuint32_t node = shadow_here();\n"
                "\th->jump = &mine;\n"
                "\tif (sigsetjmp(mine, 1) == 0) {\n"
                f"\t\tif (depth > 0 && h->budget-- > 0) {{\n\t\t\t{self.call()}\n\t\t}}\n"
                "\t} else {\n\t\tshadow_back(node);\n\t\th->in_handler = in_handler_;\n"
                f"\t\t{self.allocate()}\n\t}}\n\th->jump = outer;\n"), "struct here *h, int depth")
            text += where + f"#define jump_to_{i} {name}\n"
        return text

    def tries(self):
        text = "".join(f"struct error_{i} {{\n\tchar text[{i * i * 9}];\n}};\n" for i in range(1, 6))
        text += ("struct cleanup {\n\tstruct here *h;\n\tuint32_t node;\n"
                 "\tcleanup(struct here *h_) : h(h_), node(shadow_here()) {}\n"
                 "\tNOINLINE ~cleanup() {\n\t\tuint32_t before = shadow_here();\n\t\tshadow_back(node);\n"
                 f"\t\t{self.allocate()}\n\t\tshadow_back(before);\n\t}}\n}};\n")
        for i in (1, 2):
            catches = "".join(
                f"\t}} catch (struct error_{e} &e) {{\n\t\tshadow_back(node);\n\t\t{self.allocate()}\n"
                "\t\tthrown = h->thrown;\n" for e in self.dice.sample(range(1, 6), 2))
            where, name = self.entered("try", (
                "\tuint32_t node = shadow_here();\n\tint tries = h->tries;\n\tuintptr_t thrown = 0;\n"
                "\thold();\n\th->tries = tries + 1;\n\ttry {\n"
                f"\t\tif (depth > 0 && h->budget-- > 0) {{\n\t\t\t{self.call()}\n\t\t}}\n"
                f"{catches}"
                "\t} catch (...) {\n\t\tshadow_back(node);\n\t\tthrown = h->thrown;\n\t}\n"
                "\tif (thrown) {\n\t\tshadow_caught(thrown);\n\t}\n"
                "\th->tries = tries;\n\trelease();\n"), "struct here *h, int depth")
            text += where + f"#define try_{i} {name}\n"
        return text

    # ---- plugins

    def plugin(self, letter, ids):
        """A library that is loaded and unloaded in turn with another one, often at its place."""
        text = ("#include <stdint.h>\n#include <stdlib.h>\nstruct here;\n"
                "struct host {\n\tuint32_t (*enter)(uint32_t);\n\tvoid (*back)(uint32_t);\n"
                "\tvoid *(*malloc_)(size_t);\n\tvoid (*free_)(void *);\n"
                "\tvoid (*keep)(struct here *, void *);\n};\n")
        for i, number in enumerate(ids):
            on = f"\tfn_{ids[i - 1]}_plugin(host, h);\n" if i else ""
            pad = f"\t__asm__ volatile(\".fill {self.dice.randint(0, 200)}, 1, 0x90\");\n"
            text += (f"__attribute__((noinline)) void fn_{number}_plugin(const struct host *host, struct here *h) {{\n"
                     f"\tuint32_t before = host->enter({number});\n{pad}{on}"
                     f"\thost->keep(h, host->malloc_({self.dice.randint(1, 900)}));\n"
                     f"\thost->free_(host->malloc_({self.dice.randint(1, 900)}));\n"
                     "\thost->back(before);\n}\n")
        text += f"void plugin_run(const struct host *host, struct here *h) {{\n\tfn_{ids[-1]}_plugin(host, h);\n}}\n"
        self.plugins[letter] = text

    def plugin_host(self):
        for letter in "ab":
            self.plugin(letter, [self.new_id() for _ in range(self.dice.randint(1, 4))])
        text = ("struct host {\n\tuint32_t (*enter)(uint32_t);\n\tvoid (*back)(uint32_t);\n"
                "\tvoid *(*malloc_)(size_t);\n\tvoid (*free_)(void *);\n"
                "\tvoid (*keep)(struct here *, void *);\n};\n"
                "static void keep(struct here *h, void *p) {\n\tput(h, FREED_BY_FREE, p);\n}\n"
                "static const struct host host = {shadow_enter, shadow_back, w_malloc, w_free, keep};\n")
        where, name = self.entered("plugins", (
            "\tfor (int i = 0; i < n; i++) {\n"
            "\t\tvoid *library = dlopen(i % 2 ? PLUGIN_B : PLUGIN_A, RTLD_NOW | RTLD_LOCAL);\n"
            "\t\tif (!library) {\n\t\t\tabort();\n\t\t}\n"
            "\t\tvoid (*run)(const struct host *, struct here *) =\n"
            "\t\t\t\t(void (*)(const struct host *, struct here *))dlsym(library, \"plugin_run\");\n"
            "\t\tif (h) {\n\t\t\trun(&host, h);\n\t\t}\n"
            "\t\tdlclose(library);\n\t}\n"), "struct here *h, int n")
        return text + where + f"#define use_plugins {name}\n"

    # ---- the whole

    def write(self):
        dice, has = self.dice, self.features
        text = (f"// generate.py {self.seed} --kind {self.kind}\n"
                f"#define ORDERED {int(self.is_ordered)}\n#define LOCK {self.lock}\n"
                '#include "program.h"\n\n#include <alloca.h>\n#include <limits.h>\n\n')
        for i in range(1, self.n_functions + 1):
            text += f"static void fn_{i}(struct here *h, int depth);\n"
        names = ", ".join(f"fn_{i}" for i in range(1, self.n_functions + 1))
        text += f"static void (*volatile table[])(struct here *, int) = {{{names}}};\n\n"
        for i in (1, 2):
            body, name = self.entered("coroutine", "".join(
                f"\tfn_{dice.randint(1, self.n_functions)}(h, {dice.randint(1, 4)});\n\tyield(h);\n"
                for _ in range(3)))
            text += body + f"#define body_{i} {name}\n"
        if "jumps" in has:
            text += self.jumps()
        if self.has_exceptions:
            text += self.tries()
        if "plugins" in has:
            text += self.plugin_host()
        text += "".join(self.function(i) for i in range(1, self.n_functions + 1))
        text += self.signal_handlers() + self.threads() + self.forks() + self.main()
        return text

    def signal_handlers(self):
        text = ""
        for name, jumps, count in (("raised", "true", ""), ("alarmed", "false", "\tn_alarms = n_alarms + 1;\n")):
            callee = self.dice.randint(1, self.n_functions)
            body, called = self.entered(name, f"\tfn_{callee}(h, {self.dice.randint(0, 2)});\n")
            text += body + (f"static void on_{name}(int number) {{\n{count}"
                            f"\tin_handler(here_of_thread(), {jumps}, {called});\n}}\n")
        return text

    def threads(self):
        text = ""
        for name, depth, budget in (("worker", 6, 400), ("short_", 1, 3)):
            works = "".join(f"\tfn_{self.dice.randint(1, self.n_functions)}(&w->here, {depth});\n"
                            for _ in range(4 if name == "worker" else 1))
            body, called = self.entered(f"{name}_work", works, "struct worker *w")
            text += body + (
                f"static void *{name}(void *p) {{\n\tstruct worker *w = (struct worker *)p;\n"
                "\tprctl(PR_SET_NAME, w->name, 0, 0, 0);\n\tshadow_begin(w->name);\n"
                f"\tstart_here(&w->here, {self.seed} + shadow_thread_seed(w), {budget});\n"
                "\tstack_t signal_stack = {w->signal_stack, 0, SIGNAL_STACK};\n"
                "\tif (w->signal_stack) {\n\t\tsigaltstack(&signal_stack, NULL);\n\t}\n"
                f"\t{called}(w);\n"
                f"\tdrop(&w->here, {self.dice.choice((0, 40, 400))});\n\treturn NULL;\n}}\n")
        return ("enum { SIGNAL_STACK = 64 << 10 };\n"
                "static struct worker workers[32];\nstatic char signal_stacks[33][SIGNAL_STACK];\n"
                "static uint64_t shadow_thread_seed(struct worker *w) {\n"
                "\treturn (uint64_t)(w - workers) * 77 + 5;\n}\n") + text

    def forks(self):
        callee = self.dice.randint(1, self.n_functions)
        body, name = self.entered("fork", (
            "\thold();\n\tpid_t child = fork();\n\tif (child == 0) {\n"
            f"\t\th->jump = NULL, h->tries = 0, h->in_handler = 1;\n"
            f"\t\tw_free(w_malloc(1)); // one that never allocates is not counted as a child\n\t\tfn_{callee}(h, 2);\n\t\t_exit(7);\n\t}}\n"
            "\tshadow_forks++;\n\trelease();\n\tint status = 0;\n"
            "\twhile (waitpid(child, &status, 0) < 0) {\n\t}\n"
            "\th->result += WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 1000;\n"))
        return body + f"#define fork_once {name}\n"

    def main(self):
        dice, has = self.dice, self.features
        own_stack = "true" if dice.random() < 0.5 else "false"
        n_short = dice.randint(2, 8)
        phases = [f"fn_{dice.randint(1, self.n_functions)}(&h, {dice.randint(4, 9)});"
                  for _ in range(dice.randint(2, 5))]
        if dice.random() < 0.3:  # deep recursion, if a function calls itself
            phases.append(f"h.budget = 3000;\n\tfn_{dice.randint(1, self.n_functions)}(&h, 300);")
        if "alarms" in has:
            phases += ["AWAIT_ALARM();"] * dice.randint(1, 4)
        if "forks" in has:
            phases += ["fork_once(&h);"] * dice.randint(1, 3)
        if self.n_workers:
            name = "w->name = \"worker\";" if dice.random() < 0.5 else "w->name = i % 2 ? \"odd\" : \"even\";"
            phases.append(
                f"for (int i = 0; i < {self.n_workers}; i++) {{\n\t\tstruct worker *w = &workers[i];\n"
                f"\t\t{name}\n\t\tw->signal_stack = {own_stack} ? signal_stacks[i] : NULL;\n"
                "\t\tstart_worker(w, worker);\n\t}\n"
                f"\tfn_{dice.randint(1, self.n_functions)}(&h, 5);\n"
                f"\tfor (int i = 0; i < {self.n_workers}; i++) {{\n"
                "\t\tpthread_join(workers[i].thread, NULL);\n"
                "\t\tCHECKED(say_result(\"worker\", &workers[i].here));\n\t}")
        if "short_threads" in has:
            phases.append(
                f"for (int round = 0; round < {dice.randint(3, 12)}; round++) {{\n"
                f"\t\tfor (int i = 0; i < {n_short}; i++) {{\n"
                "\t\t\tworkers[8 + i].name = \"short\";\n\t\t\tstart_worker(&workers[8 + i], short_);\n\t\t}\n"
                f"\t\tfor (int i = 0; i < {n_short}; i++) {{\n"
                "\t\t\tpthread_join(workers[8 + i].thread, NULL);\n\t\t}\n\t}")
        dice.shuffle(phases)
        if "plugins" in has:
            phases.append(f"raise_peak();\n\tuse_plugins(&h, {dice.randint(2, 30)});")
        end = dice.choice(ENDS).format(dice.randint(0, 5))
        if self.is_musl and "quick" in end:
            end = "return 3"
        warm = max(self.n_workers, n_short if "short_threads" in has else 0)
        lines = [
            'shadow_start("program");', "static struct here h;",
            "ENTER(0);",
            f"start_here(&h, {self.seed}, 2000);",
            "stack_t signal_stack = {signal_stacks[32], 0, SIGNAL_STACK};",
            f"if ({own_stack}) {{\n\t\tsigaltstack(&signal_stack, NULL);\n\t}}",
            f"handle(SIGUSR1, on_raised, {own_stack});", f"handle(SIGALRM, on_alarmed, {own_stack});",
            "let_alarms(SIG_BLOCK);",
            f"keep_threads_warm({warm});" if warm else "",
            "warm_up_exceptions();" if self.has_exceptions else "",
            "use_plugins(NULL, 2);" if "plugins" in has else "",
            *phases,
            f"drop(&h, {dice.choice((0, 30, 300))});",
            "CHECKED(say_result(\"main\", &h));",
            "LEAVE();", "shadow_write(arguments[1]);", f"{end};"]
        checked = "0" if self.n_workers else "1"  # what blocks others gave is not the same each time
        return (f"#define CHECKED(call) do {{ if ({checked}) {{ call; }} }} while (0)\n"
                "int main(int n, char **arguments) {\n"
                + "".join(f"\t{line}\n" for line in lines if line) + "}\n")


def main():
    parser = argparse.ArgumentParser(description="Write a random program that knows its truth.")
    parser.add_argument("seed", type=int)
    parser.add_argument("--kind", choices=KINDS)
    options = parser.parse_args()
    program = Program(options.seed, options.kind)
    sys.stdout.write(program.source)
    for letter, text in program.plugins.items():
        sys.stdout.write(f"\n// ---- plugin {letter}\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
