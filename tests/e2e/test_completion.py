"""What the shells complete: each is asked itself, with the scripts that the build makes."""

import shutil
import subprocess

import pytest


@pytest.fixture
def script(tools, tmp_path):
    def make(shell):
        if not shutil.which(shell):
            pytest.skip(f"{shell} is not installed")
        finished = tools.run(tools.build / "tools/manual/heaptrack-completion", shell)
        assert finished.status == 0 and not finished.stderr, repr(finished)
        path = tmp_path / f"completion.{shell}"
        path.write_text(finished.stdout)
        (tmp_path / "recording.zst").touch()
        (tmp_path / "folder").mkdir()
        return path
    return make


def by_bash(script, folder, line):
    """A Tab behind the line: bash's own machinery, but for readline's cutting into words."""
    asks = r"""
        source "$1"
        IFS=' ' read -ra COMP_WORDS <<< "${2//=/ = }"
        [[ $2 == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        $(complete -p "${COMP_WORDS[0]}" | sed 's/.*-F \([^ ]*\).*/\1/')
        printf '%s\n' "${COMPREPLY[@]}"
    """
    finished = subprocess.run(["bash", "--norc", "-c", asks, "bash", script, line], cwd=folder,
                              capture_output=True, text=True, timeout=20)
    assert not finished.stderr, finished.stderr
    return set(finished.stdout.split())


def by_fish(script, folder, line):
    finished = subprocess.run(["fish", "--no-config", "-c",
                               'source $argv[1]; complete --do-complete $argv[2]', script, line],
                              cwd=folder, capture_output=True, text=True, timeout=20)
    assert not finished.stderr, finished.stderr
    return {each.split("\t")[0] for each in finished.stdout.splitlines()}


def by_zsh(script, folder, line):
    """A zsh in a terminal of its own, which is sent the line and two Tabs."""
    functions = folder / "functions"
    functions.mkdir(exist_ok=True)
    shutil.copy(script, functions / "_heaptrack")
    asks = r"""
        zmodload zsh/zpty
        zpty z zsh -f -i
        until_there() { zpty -r z REPLY "*$1*"; print -r -- "$REPLY"; }
        zpty -w z "fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; unsetopt zle_bracketed_paste; PS1=; echo rea''dy"
        until_there ready > /dev/null
        zpty -w -n z "$2"$'\t\t'
        until_there "$3"
    """
    finished = subprocess.run(["zsh", "-f", "-c", asks, "zsh", functions, line[0], line[1]],
                              cwd=folder, capture_output=True, text=True, timeout=60)
    return finished.stdout


CASES = [
    ("heaptrack --o", {"--output"}, {"--lens"}),
    ("heaptrack_print --by ", {"function", "lifetime"}, {"recording.zst"}),
    ("heaptrack_print --ht", {"--html", "--html-limit"}, {"--json"}),
    ("heaptrack_print --suppressions reco", {"recording.zst"}, {"--tree"}),
    ("heaptrack_print reco", {"recording.zst"}, set()),
    ("heaptrack_gui --no-", {"--no-browser", "--no-source"}, {"--keep"}),
]


@pytest.mark.parametrize("shell, ask", [("bash", by_bash), ("fish", by_fish)])
def test_words(script, tmp_path, shell, ask):
    path = script(shell)
    for line, wanted, unwanted in CASES:
        answer = ask(path, tmp_path, line)
        assert wanted <= answer and not unwanted & answer, (line, answer)


def test_bash_beside_equals_signs_and_programs(script, tmp_path):
    path = script("bash")
    assert by_bash(path, tmp_path, "heaptrack_print --flamegraph-cost-type=l") == {"leaked"}
    assert by_bash(path, tmp_path, "heaptrack_print --flamegraph-cost-type=") >= {"leaked", "peak"}
    assert by_bash(path, tmp_path, "heaptrack --ctl s") == {"status"}
    # what follows the program are its own words, not ours
    assert "--output" not in by_bash(path, tmp_path, "heaptrack ls --o")
    assert str(1) in by_bash(path, tmp_path, "heaptrack -p ")


def test_zsh(script, tmp_path):
    path = script("zsh")
    assert subprocess.run(["zsh", "-n", path], capture_output=True).stderr == b""
    # the last word of the answer is waited for
    answer = by_zsh(path, tmp_path, ("heaptrack_print --by ", "thread"))
    assert "lifetime" in answer and "package" in answer, answer
    assert "--free-stacks" in by_zsh(path, tmp_path, ("heaptrack --free", "stacks"))


def test_another_shell_is_refused(tools):
    finished = tools.run(tools.build / "tools/manual/heaptrack-completion", "tcsh")
    assert finished.status == 2 and finished.stderr == "usage: heaptrack-completion bash|zsh|fish\n"
