"""Reading statistics: everything against a line-by-line parser, counters against ``wc -l``, proof, memory.

    .venv/bin/python benchmarks/bench_stats.py [STATS.TXT] [--repeat N]

Without a file: the 64-CU softmax of tests/data (28.7 MB unpacked). Sides alternate and keep their best times;
    both must find the same values. ``wc -l`` is timed as a process, the rest as functions.
"""

from __future__ import annotations

import argparse
import lzma
import math
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apuflow.engines.simulated import required_rows
from apuflow.gem5.stats.reader import iter_dumps, read_stats
from apuflow.run.proof import read_proof
from apuflow_analysis.counters.counters import counters

REAL = Path(__file__).parents[1] / "tests/data/gem5_runs/stats/softmax_fwd-100x1000x1x1-u64.txt.xz"
NAME_AND_VALUE = re.compile(r"^(\S+)\s+([-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf))\b")
WHOLE_LINE = re.compile(r"^(\S+)\s+([-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf))\b(.*)$")


def names_and_values(path: Path) -> dict[str, float]:
    """The usual script: one expression per line, names and values only."""
    found = {}
    with path.open() as lines:
        for line in lines:
            match = NAME_AND_VALUE.match(line)
            if match:
                found[match[1]] = float(match[2])
    return found


def line_by_line(path: Path) -> dict[str, tuple[float, str, str]]:
    """One expression per line for everything in it: name, value, shares, description and unit."""
    found = {}
    with path.open() as lines:
        for line in lines:
            match = WHOLE_LINE.match(line)
            if match:
                name, value, rest = match.groups()
                numbers, _, text = rest.partition(" # ")
                found[name] = (float(value), numbers, text)
    return found


def best(repeat: int, *functions: Callable[[], Any]) -> list[float]:
    """Best time of each function, in turns, so that load affects all alike."""
    times = [math.inf] * len(functions)
    for _ in range(repeat):
        for index, function in enumerate(functions):
            start = time.perf_counter()
            function()
            times[index] = min(times[index], time.perf_counter() - start)
    return times


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
    """Peak memory in MiB of a process that streams a file of ``dumps`` copies of the dumps of ``path``."""
    with tempfile.TemporaryDirectory() as folder:
        big = Path(folder) / "stats.txt"
        with big.open("wb") as out:
            for _ in range(dumps):
                out.write(path.read_bytes())
        script = (
            "import sys, resource\nfrom apuflow.gem5.stats.reader import iter_dumps\n"
            "total = sum(len(dump) for dump in iter_dumps(sys.argv[1]))\n"
            "lines = open('/proc/self/status').read().splitlines()\n"
            "print(next(line.split()[1] for line in lines if line.startswith('RssAnon')),"
            " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(big)], check=True, capture_output=True, text=True
        )
    return int(done.stdout.split()[0]) // 1024


def main() -> None:
    """Print the times and their ratios."""
    parser = argparse.ArgumentParser(description="How fast statistics are read.")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file
        if path is None:
            path = Path(folder) / "stats.txt"
            path.write_bytes(lzma.decompress(REAL.read_bytes()))
        check(path)
        required = required_rows()
        simple, whole, ours, indexed, some, counted, proven, wc = best(
            arguments.repeat,
            lambda: names_and_values(path),
            lambda: line_by_line(path),
            lambda: read_stats(path),
            lambda: read_stats(path)[-1].numbers,
            lambda: read_stats(path, select=["*.completedWGs", "simTicks"]),
            lambda: counters(path),
            lambda: read_proof(path, required),
            lambda: subprocess.run(["wc", "-l", str(path)], check=True, capture_output=True),
        )
        print(f"{path.stat().st_size / 1e6:.1f} MB; best of {arguments.repeat}, in milliseconds")
        for label, seconds in (
            ("line by line, everything", whole),
            ("line by line, names and values", simple),
            ("read_stats", ours),
            ("read_stats and a dict of all rows", indexed),
            ("read_stats(select=...)", some),
            ("counters", counted),
            ("proof", proven),
            ("wc -l", wc),
        ):
            print(f"  {label:34} {seconds * 1e3:8.1f}")
        print(
            f"full parse: {whole / ours:.1f} times as fast as line by line ({simple / ours:.1f} names only)"
        )
        print(f"with a dict: {whole / indexed:.1f} times as fast as line by line ({simple / indexed:.1f})")
        print(f"counters: {counted / wc:.1f} times the time of wc -l")
        print(f"streaming: {memory(path, 1)} MiB for one dump, {memory(path, 6)} MiB for six")
    print(f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    main()
