"""What holds live blocks, as heaptrack --leaks finds it: held against programs that know."""

def record(tools, *command, **more):
    run = tools.record(*command, options=("--leaks", "--force"), **more)
    assert run.status == 0, repr(run)
    return run


def roots(run):
    """Retained bytes and blocks of each root, by its name without what it lies in."""
    found = {}
    for row in run.json()["leaks"]["holders"]:
        name = "thread" if row["kind"] == "thread_local" else row["name"].split(" of ")[0]
        found[name] = (row["retained_bytes"], row["retained_blocks"])
    return found


SEEDS = 12
LONG_SEEDS = 200
EXACT = 0.95  # of all owners


def test_owners_hold_what_they_have_made(tools, is_long):
    """Lists, rings, trees, tables and arrays, by pointers to the inside and with tags, and words left behind in
    one block of a hundred: what each variable holds is known to the byte."""
    n, exact, wrong = 0, 0, []
    for seed in range(1, (LONG_SEEDS if is_long else SEEDS) + 1):
        run = record(tools, tools.victim("owners"), str(seed))
        found = roots(run)
        for line in run.stdout.splitlines():
            if line.split()[0] in {"thread", *(f"g_{k}" for k in range(8))}:
                name, size, blocks = line.split()
                n += 1
                is_exact = found.get(name) == (int(size), int(blocks))
                exact += is_exact
                if not is_exact:
                    wrong.append((seed, name, int(size), int(blocks), found.get(name)))
    assert n > 0 and exact >= EXACT * n, (exact, n, wrong)


def test_a_tree_from_variables_down(tools):
    """And from a function up, to what leads to its blocks; with words where there is no answer."""
    run = record(tools, tools.victim("owners"), "17", "8")
    tree = tools.print(run.file, "--holders").stdout
    assert "g_1 of owners\n" in tree and tree.index("g_1 of owners") < tree.index("in_table  owners.c:")
    callers = tools.print(run.file, "--holders=in_table").stdout
    assert "table  owners.c:" in callers.partition("callees")[0] and "text_of  owners.c:" in callers.partition("callees")[2]
    finding = next(f for f in run.json()["findings"] if f["id"] == "held-by")
    assert finding["text"].startswith("g_1 of owners holds 2.0 MB in 29,409 blocks, 33 % of what lived just before the end: by ")
    assert "candidates: table" in tools.print(run.file, "--holders=nobody", status=1).stderr
    plain = tools.record(tools.victim("owners"), options=("--force",))
    assert "record with heaptrack --leaks" in tools.print(plain.file, "--holders", status=1).stderr
