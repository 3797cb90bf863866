"""Reading statistics: everything against a line-by-line parser, counters against ``wc -l``, proof, memory.

    .venv/bin/python benchmarks/bench_stats.py [STATS.TXT] [--repeat N]

Without a file: the 64-CU softmax of tests/data (28.7 MB unpacked). Sides alternate and keep their best times;
both must find the same values. ``wc -l`` is timed as a process, the rest as functions.
"""

from __future__ import annotations

import lzma
import math
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from measuring import ROOT, best, parser

from apuflow.engines.simulated import required_rows
from apuflow.gem5.stats.reader import iter_dumps, read_stats
from apuflow.run.proof import read_proof
from apuflow_analysis.counters.counters import counters

REAL = ROOT / "tests/data/gem5_runs/stats/softmax_fwd-100x1000x1x1-u64.txt.xz"
NAME_AND_VALUE = re.compile(r"^(\S+)\s+([-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf))\b")
STREAM = """\
import sys
from apuflow.gem5.stats.reader import iter_dumps
total = sum(dump.numbers['simTicks'] for dump in iter_dumps(sys.argv[1]))
lines = open('/proc/self/status').read().splitlines()
print(next(line.split()[1] for line in lines if line.startswith('RssAnon')))
"""


def names_and_values(path: Path) -> dict[str, float]:
    """The usual script: one expression per line, names and values only."""
    with path.open() as lines:
        return {found[1]: float(found[2]) for line in lines if (found := NAME_AND_VALUE.match(line))}


def line_by_line(path: Path) -> dict[str, tuple[float, str, str]]:
    """One expression per line for everything in it: name, value, shares, description and unit."""
    found = {}
    with path.open() as lines:
        for line in lines:
            if match := NAME_AND_VALUE.match(line):
                numbers, _, text = line[match.end() :].partition(" # ")
                found[match[1]] = (float(match[2]), numbers, text)
    return found


def check(path: Path) -> None:
    """Check that both sides read the same."""
    reference = line_by_line(path)
    rows: dict[str, float] = {}
    for dump in iter_dumps(path):
        rows |= dump.numbers
    for name, (value, *_) in reference.items():
        if rows[name] != value and not (math.isnan(rows[name]) and math.isnan(value)):
            raise SystemExit(f"{name}: {rows[name]} against {value}")
    print(f"{len(reference)} values agree")


def memory(path: Path, dumps: int) -> int:
    """Memory in MiB of a process that streams a file of ``dumps`` copies of the dumps of ``path``."""
    with tempfile.TemporaryDirectory() as folder:
        big = Path(folder) / "stats.txt"
        big.write_bytes(path.read_bytes() * dumps)
        return int(subprocess.check_output([sys.executable, "-c", STREAM, big])) // 1024


def main() -> None:
    """Print the times and their ratios."""
    command = parser(__doc__, repeat=7)
    command.add_argument("file", nargs="?", type=Path)
    given = command.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "stats.txt"
        if given.file is None:
            path.write_bytes(lzma.decompress(REAL.read_bytes()))
        check(path)
        required = required_rows()
        works: dict[str, Callable[[], object]] = {
            "line by line, everything": lambda: line_by_line(path),
            "line by line, names and values": lambda: names_and_values(path),
            "read_stats": lambda: read_stats(path),
            "read_stats and a dict of all rows": lambda: read_stats(path)[-1].numbers,
            "read_stats(select=...)": lambda: read_stats(path, select=["*.completedWGs", "simTicks"]),
            "counters": lambda: counters(path),
            "proof": lambda: read_proof(path, required),
            "wc -l": lambda: subprocess.run(["wc", "-l", path], check=True, capture_output=True),
        }
        times = best(given.repeat, *works.values())
        whole, simple, ours, indexed, _, counted, _, lines = times
        print(f"{path.stat().st_size / 1e6:.1f} MB; best of {given.repeat}, in milliseconds")
        for label, seconds in zip(works, times, strict=True):
            print(f"  {label:34} {seconds * 1e3:8.1f}")
        print(
            f"full parse: {whole / ours:.1f} times as fast as line by line ({simple / ours:.1f} names only)"
        )
        print(f"with a dict: {whole / indexed:.1f} times as fast as line by line ({simple / indexed:.1f})")
        print(f"counters: {counted / lines:.1f} times the time of wc -l")
        print(f"streaming: {memory(path, 1)} MiB for one dump, {memory(path, 6)} MiB for six")
    print(f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    main()
