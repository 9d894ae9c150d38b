"""Classes and grades of live blocks, as heaptrack --leaks finds them: held against a program that knows."""

import shutil
import subprocess

import pytest

SEEDS = 3
LONG_SEEDS = 200


def record(tools, *command):
    run = tools.record(*command, options=("--leaks", "--force"))
    assert run.status == 0, repr(run)
    return run


def told(run):
    """What the program says of its classes, and of objects in arenas."""
    classes, objects = {}, {}
    for line in run.stdout.splitlines():
        if line.startswith("objects "):
            _, name, n = line.split()
            objects[name] = int(n)
        else:
            name, *numbers = line.rsplit(" ", 3)
            classes[name] = tuple(map(int, numbers))
    assert len(classes) == 5 and objects
    return classes, objects


@pytest.mark.parametrize("is_stripped", [False, True], ids=["symbols", "stripped"])
def test_classes_are_those_of_the_objects(tools, tmp_path, is_stripped, is_long):
    """By symbols, or by RTTI alone; of several bases, virtual ones, templates, without a name that is public."""
    program = tools.victim("classes")
    if is_stripped:
        program = shutil.copy(program, tmp_path / "classes")
        subprocess.run(["strip", program], check=True)
    for seed in range(1, (LONG_SEEDS if is_long else SEEDS) + 1):
        run = record(tools, program, str(seed))
        classes, objects = told(run)
        rows = run.json()["leaks"]["classes"]
        assert all(row["kind"] == "cpp" for row in rows)
        found = {row["name"]: (row["blocks"], row["bytes"], row["retained_bytes"]) for row in rows}
        for name, numbers in classes.items():
            assert found.pop(name) == numbers, (seed, name)
        # Only what the library makes of them besides
        assert all("_Sp_counted" in name for name in found), (seed, found)
        assert {row["name"]: row["objects_in_arenas"] for row in rows if row["objects_in_arenas"]} == objects


def test_lists_by_class_and_grade(tools):
    run = record(tools, tools.victim("classes"), "1")
    classes, objects = told(run)
    shown = tools.print(run.file, "--classes").stdout
    for name, (blocks, _, _) in classes.items():
        line = next(line for line in shown.splitlines() if line.endswith("  " + name))
        assert f" {blocks:,}  " in line, line
    assert f"objects: {objects['zoo::Cat']:,} of zoo::Cat\n" in shown
    parts = run.json("--by", "grade")
    graded = run.json()["leaks"]["looks"][0]["grades"]
    assert parts["by"] == "grade" and {p["label"]: p["blocks"] for p in parts["parts"]} == {
        g["grade"]: g["blocks"] for g in graded if g["blocks"]}
    held = run.json("--by", "class", "--lens", "grade=held")
    assert held["totals"]["blocks"] == next(g["blocks"] for g in graded if g["grade"] == "held")
    assert run.json("--by", "type", "--lens", "m=graded") == run.json("--classes")
    refused = tools.print(run.file, "--tree", "--lens", "m=never-freed&grade=held", status=1)
    assert "m=never-freed has no grades" in refused.stderr
    plain = tools.print(run.file, "--by", "grade", "--lens", "m=never-freed").stdout
    assert "(grades not told apart)" in plain
