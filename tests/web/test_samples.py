"""The line of RSS has the kernel's high-water mark where no sample saw it, and what looks found."""

import json
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
TIMES = RSS = [100, 200, 300]
# At the heap's peak if that was between the same samples, else half-way; and not twice
ROWS = [
    ({"rssBytes": 900, "rssKnownNs": 200, "heapNs": 150}, [100, 150, 200, 300], [100, 900, 200, 300]),
    ({"rssBytes": 900, "rssKnownNs": 200, "heapNs": 260}, [100, 150, 200, 300], [100, 900, 200, 300]),
    ({"rssBytes": 900, "rssKnownNs": 100, "heapNs": 40}, [40, 100, 200, 300], [900, 100, 200, 300]),
    ({"rssBytes": 900, "rssKnownNs": 400, "heapNs": 390}, [100, 200, 300, 390], [100, 200, 300, 900]),
    ({"rssBytes": 300, "rssKnownNs": 300, "heapNs": 250}, TIMES, RSS),
    ({"rssBytes": 0, "rssKnownNs": 0, "heapNs": 250}, TIMES, RSS),
]


@pytest.fixture(scope="module")
def module(web, tmp_path_factory):
    module = tmp_path_factory.mktemp("samples") / "samples.mjs"
    subprocess.run([web / "node_modules/.bin/esbuild", SOURCE / "web/src/data/samples.ts", "--bundle",
                    "--format=esm", f"--outfile={module}", "--log-level=warning"], check=True, timeout=120)
    return module


def said_by(program):
    said = subprocess.run(["node", "--input-type=module", "-e", program], check=True, capture_output=True,
                          text=True, timeout=60)
    return json.loads(said.stdout)


@pytest.fixture(scope="module")
def with_peak(module):
    def run(peaks, times, rss):
        program = f"""import {{ withPeak }} from {json.dumps(str(module))};
            const column = (values) => Float64Array.from(values);
            const s = {{ n: {len(times)}, timeNs: column({times}), rssBytes: column({rss}), oursBytes: column({rss}),
                         heapBytes: column({times}), threads: column({times}) }};
            const made = withPeak(s, {json.dumps({"heapBytes": 7, **peaks})});
            const list = Object.entries(made).map(([k, v]) => [k, k === 'n' ? v : Array.from(v)]);
            console.log(JSON.stringify(Object.fromEntries(list)))"""
        return said_by(program)
    return run


@pytest.mark.parametrize("peaks, times, rss", ROWS)
def test_the_line_has_its_peak(with_peak, peaks, times, rss):
    made = with_peak(peaks, TIMES, RSS)
    assert (made["timeNs"], made["rssBytes"], made["n"]) == (times, rss, len(times))
    if len(times) > len(TIMES):
        at = rss.index(900)
        near = min(at, len(TIMES) - 1)
        is_heaps = times[at] == peaks["heapNs"]
        assert made["oursBytes"] == [*RSS[:at], RSS[near], *RSS[at:]]
        assert made["heapBytes"] == [*TIMES[:at], 7 if is_heaps else TIMES[near], *TIMES[at:]]


def test_nothing_comes_of_no_samples(with_peak):
    assert with_peak({"rssBytes": 900, "rssKnownNs": 5, "heapNs": 4}, [], [])["n"] == 0


def test_the_line_goes_through_what_looks_found(module):
    """A process that gave memory back at its end had two figures there: that of the look, and the last sample's."""
    assert said_by(f"""import {{ rssRead }} from {json.dumps(str(module))};
        const samples = {{ timeNs: Float64Array.from([100, 300]), rssBytes: Float64Array.from([10, 30]) }};
        const looks = [200, 400].map((time_ns) => ({{ time_ns, rss_bytes: time_ns / 100 }}));
        console.log(JSON.stringify(rssRead(samples, looks)))""") == [[100, 10], [200, 2], [300, 30], [400, 4]]
