"""Trace launches of MIOpen's kernels and of our own by the interpreter, for the preview's table of launches.

    python benchmarks/traced_launches.py --miopen DIR workflow/apuflow/preview/kernels/launches.csv.xz

DIR is MIOpen's source at tag rocm-4.0.1. Nothing is fetched; clang 15 and ROCm's device libraries have to be
installed (``apuflow doctor``). Launches are those of the recorded runs but the held-out ones, of the suites,
and of random layers and operations. What was traced is kept in ``--cache``, and a second run goes on there.
``--seconds`` ends the tracing, not the writing. Columns: ``apuflow.preview.kernels.traced.GIVEN``, resources,
``apuflow.preview.kernels.totals.TOTALS``.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import lzma
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measuring import ROOT
from numpy.typing import NDArray

sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "analysis")]

import layer_passes  # noqa: E402

from apuflow.configure.loading import load_release  # noqa: E402
from apuflow.core.errors import ApuflowError, NotModelled  # noqa: E402
from apuflow.core.files import atomic_write  # noqa: E402
from apuflow.engines.derived_kernels import kernel_objects  # noqa: E402
from apuflow.interpret.trace import Traced  # noqa: E402
from apuflow.kernels.interpreted import interpret_list  # noqa: E402
from apuflow.kernels.metadata import read_kernels  # noqa: E402
from apuflow.kernels.previewed import totals_of  # noqa: E402
from apuflow.launcher.corrections import correcting  # noqa: E402
from apuflow.launcher.plan import guest_run, kernel_source, source_directory  # noqa: E402
from apuflow.miopen import Launch  # noqa: E402
from apuflow.miopen.compiler import Compiler, digest, host_compiler  # noqa: E402
from apuflow.miopen.objects import compile_object  # noqa: E402
from apuflow.preview.kernels.facts import Facts, facts_of  # noqa: E402
from apuflow.preview.kernels.numbers import numbers  # noqa: E402
from apuflow.preview.kernels.registry import profile  # noqa: E402
from apuflow.preview.kernels.totals import TOTALS  # noqa: E402
from apuflow.preview.kernels.traced import GIVEN, logarithms  # noqa: E402

GPUS = {"gfx902": "v24.0", "gfx801": "v23.0"}
"""By GPU, the gem5 release for whose defects kernels are compiled."""
SHARE = {"gfx902": 2, "gfx801": 1}
"""Rows of a GPU, of three."""
ROWS = 450
"""Of a kernel."""
FORMULAS = (
    *("sgemm", "Cijk_", "Softmax", "mloPooling", "MIOpenLRN", "MIOpenActiveFwdLite", "MIOpenActiveBwdLite"),
)
"""How the names begin of kernels that the preview has formulas for."""
MOST_INSTRUCTIONS = 3_000_000
"""Wavefront instructions of a launch that is traced: about 10 s."""
LONG = 300_000
"""Instructions of a launch that is traced in the turn of one of twice its place."""
UNKNOWN = 300
"""Instructions of a wavefront, where the preview does not know them."""
MOST_BYTES = 1 << 29
"""Of a launch's buffers."""
TABLE_BYTES = 400_000
SEED, DRAWN = 63, 400
APART, FEW = 2.0, 4
"""Distance of two launches in a number that has at most so many values; others' are of their logarithms."""


class Traceable(NamedTuple):
    """A launch that can be traced, its GPU, and what the preview sees of it."""

    launch: Launch
    gfx: str
    facts: Facts

    @classmethod
    def of(cls, launch: Launch, gfx: str) -> Traceable:
        """The launch on a GPU; of a loop the first pass."""
        return cls(launch, gfx, facts_of(launch, vega=gfx != "gfx801"))

    @property
    def key(self) -> str:
        """What tells it from others in the cache."""
        return digest(repr(tuple(self.facts)))

    @property
    def size(self) -> int:
        """Bytes of its buffers."""
        return sum(arg.elements * arg.element_bytes for arg in self.launch.args if arg.kind == "buffer")


def is_traced(kernel: str) -> bool:
    """Whether a kernel's launches are for the table."""
    return not kernel.startswith(FORMULAS)


# choosing launches ---------------------------------------------------------------------------------------
def candidates(drawn: int) -> tuple[dict[Facts, Traceable], set[Facts]]:
    """Different launches, each on both GPUs, and which of them are of recorded runs.

    Launches of the held-out runs are left out, wherever else they come from.
    """
    judges = {facts_of(found.launch, vega=True) for found in layer_passes.recorded(held_out=True)}
    known = list(layer_passes.recorded())
    chosen: dict[Facts, Traceable] = {}
    runs: set[Facts] = set()
    for launch, ran_on in (*known, *layer_passes.of_suites(), *layer_passes.drawn(drawn, SEED)):
        if not is_traced(launch.kernel) or facts_of(launch, vega=True) in judges:
            continue
        for gfx in GPUS:
            each = Traceable.of(launch, gfx)
            chosen.setdefault(each.facts, each)
            if ran_on == gfx:
                runs.add(each.facts)
    return chosen, runs


def expected(each: Traceable) -> float:
    """Wavefront instructions, by the preview; by the grid alone where that does not know the kernel."""
    try:
        return profile(each.facts).counts.instructions
    except (NotModelled, ArithmeticError, OSError):
        return float(UNKNOWN * each.facts.workgroups * each.facts.waves_per_group)


def places(rows: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    """Launches of a kernel as points: logarithms of their numbers; those with few values are names."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = []
    for name in names:
        values = np.array([row.get(name, 0.0) for row in rows])
        different = np.unique(values)
        if 1 < len(different) <= FEW:
            columns += [APART / 2.0**0.5 * (values == each) for each in different]
        elif len(different) > FEW:
            columns.append(logarithms(values))
    return np.array(columns or [np.zeros(len(rows))], dtype=np.float64).T


def spread(points: NDArray[np.float64], most: int) -> list[int]:
    """Numbers of points, the first in the middle, each other one as far as can be from those before."""
    if not len(points):
        return []
    chosen = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin())]
    away = np.full(len(points), np.inf)
    while len(chosen) < min(most, len(points)):
        away = np.minimum(away, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        away[chosen] = -1.0
        chosen.append(int(away.argmax()))
    return chosen


def chosen_of(group: Sequence[Traceable], most: int) -> list[Traceable]:
    """Launches of a kernel that are far from each other, in that order, those of each GPU by its share."""
    queues = []
    for gfx, share in SHARE.items():
        one = [each for each in group if each.gfx == gfx]
        parts = most * share // sum(SHARE.values())
        queues += [[one[place] for place in spread(places([numbers(each.facts) for each in one]), parts)]]
    return list(in_turn(queues))


def by_kernel(every: Iterable[Traceable]) -> dict[str, list[Traceable]]:
    """Launches of each kernel."""
    found: dict[str, list[Traceable]] = defaultdict(list)
    for each in every:
        found[each.launch.kernel].append(each)
    return dict(sorted(found.items()))


def in_turn(queues: Sequence[Sequence[Traceable]]) -> Iterator[Traceable]:
    """The first of each queue, then the second of each."""
    for place in range(max(map(len, queues), default=0)):
        yield from (queue[place] for queue in queues if place < len(queue))


def in_order(every: Mapping[Facts, Traceable], cost: Mapping[Facts, float], runs: set[Facts]) -> list[Traceable]:
    """The launches to trace: spread ones of each kernel and those of runs, long ones later."""
    places: dict[Facts, float] = {}
    for group in by_kernel(every.values()).values():
        for queue in (chosen_of(group, ROWS), [each for each in group if each.facts in runs]):
            for place, each in enumerate(queue):
                turn = (1.0 + place) * (1.0 + cost[each.facts] / LONG)
                places[each.facts] = min(turn, places.get(each.facts, turn))
    return [every[facts] for facts in sorted(places, key=lambda facts: places[facts])]


# tracing -------------------------------------------------------------------------------------------------
class Tools(NamedTuple):
    """MIOpen's kernels, where objects and traces are kept, and the time of the clock when tracing ends."""

    kernels: Path
    kept: Path
    end: float


@cache
def compiler(gfx: str) -> Compiler:
    """clang with the corrections for the release."""
    return correcting(host_compiler(code_object=4), load_release(GPUS[gfx], ROOT).instruction_defects(gfx))


def compiled(each: Traceable, tools: Tools) -> Path:
    """The code object of a launch.

    Raises:
        EngineError: it cannot be compiled.
    """
    clang = compiler(each.gfx)
    (found,) = kernel_objects([each.launch], each.gfx, clang, tools.kernels).values()
    path = tools.kept / "objects" / each.gfx / f"{found.name}.o"
    if not path.exists():
        directory = source_directory(found.row.program, tools.kernels)
        compile_object(found.row, each.gfx, clang, directory, path, expect=[each.launch.kernel])
    return path


def traced(each: Traceable, tools: Tools) -> tuple[Traced, int]:
    """What a launch does, and the scalar registers of a wavefront.

    Raises:
        EngineError: it cannot be compiled or executed.
    """
    launch = each.launch
    path = compiled(each, tools)
    scalars = next(one.scalar_registers for one in read_kernels(path) if one.name == launch.kernel)
    once, objects = replace(launch, count=1, loop=0), {kernel_source(launch): path}
    plan = guest_run([once], device=each.gfx, objects=objects).without_outputs()
    return interpret_list(plan.contents, trace=True, limit=4 * MOST_INSTRUCTIONS // 3).traced[0], scalars


def record(work: tuple[Traceable, Tools]) -> dict[str, Any] | None:
    """What the table is made of, of one launch, as JSON; None: the time is over."""
    each, tools = work
    begin = time.time()
    if begin > tools.end:
        return None
    about = {"key": each.key, "kernel": each.launch.kernel}
    try:
        found, scalars = traced(each, tools)
    except (ApuflowError, MemoryError) as error:
        return {**about, "refused": str(error).splitlines()[0]}
    return {
        **about,
        "waves": found.wavefronts,
        **dict(zip(RESOURCES, (found.lds_bytes, found.registers, scalars), strict=True)),
        **totals_of(found),
        "seconds": round(time.time() - begin, 2),
    }


Records = dict[str, dict[str, Any]]


def trace_all(every: Sequence[Traceable], tools: Tools, jobs: int) -> Records:
    """Records by key, of those kept and of those traced until the time is over."""
    file = tools.kept / "traced.jsonl"
    kept: Records = {one["key"]: one for one in _read(file)}
    missing = [(each, tools) for each in every if each.key not in kept]
    with file.open("a", encoding="utf-8") as out, multiprocessing.Pool(jobs) as pool:
        for one in pool.imap_unordered(record, missing):
            if one is not None:
                kept[one["key"]] = one
                out.write(json.dumps(one) + "\n")
                out.flush()
    return kept


def _read(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


# the table -----------------------------------------------------------------------------------------------
RESOURCES = "lds_bytes", "vgprs", "sgprs"
"""Bytes of a workgroup, registers of a wavefront."""
COLUMNS = (*GIVEN, *RESOURCES, *TOTALS)


def cells(facts: Facts, one: Mapping[str, Any]) -> list[str]:
    """A row of the table."""
    given = {
        "kernel": facts.kernel,
        "arguments": facts.arguments,
        "values": " ".join(f"{name}={value:.10g}" for name, value in facts.values),
        "grid": "x".join(map(str, facts.grid)),
        "workgroup": "x".join(map(str, facts.workgroup)),
        "vega": str(int(facts.vega)),
    }
    counted = (f"{one[name]:.5g}" for name in TOTALS)
    return [*(given[name] for name in GIVEN), *(str(one[name]) for name in RESOURCES), *counted]


def table(every: Sequence[Traceable], kept: Records, most: int) -> bytes:
    """The compressed table: of each kernel at most so many launches that are far from each other."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for group in by_kernel(each for each in every if "waves" in kept.get(each.key, ())).values():
        chosen = chosen_of(group, most)
        writer.writerows(sorted(cells(each.facts, kept[each.key]) for each in chosen))
    return lzma.compress(out.getvalue().encode(), preset=9)


def fitting(every: Sequence[Traceable], kept: Records) -> tuple[bytes, int]:
    """The largest table that is small enough, and the most launches of a kernel in it."""
    few, many = 3, ROWS + 1
    best = table(every, kept, few)
    while many - few > 3:
        most = (few + many) // 2
        data = table(every, kept, most)
        few, many, best = (most, many, data) if len(data) <= TABLE_BYTES else (few, most, best)
    return best, few


def report(every: int, chosen: Sequence[Traceable], kept: Records, large: int, most: int) -> str:
    """What was traced, and what was not and why."""
    mine = [kept[each.key] for each in chosen if each.key in kept]
    refused = Counter(f"{one['kernel']}: {one['refused']}" for one in mine if "refused" in one)
    lines = [
        f"{every} launches, {large} of them too large; {len(chosen)} chosen, "
        f"{len(mine) - refused.total()} of them traced; at most {most} rows of a kernel",
        *(f"  {times} x {said}" for said, times in refused.most_common(20)),
    ]
    return "\n".join(lines)


def main() -> None:
    """Trace, and write the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("out", type=Path, help="the table, .csv.xz")
    options.add_argument("--miopen", type=Path, required=True, help="MIOpen's source at tag rocm-4.0.1")
    options.add_argument("--jobs", type=int, default=2, help="default: 2")
    options.add_argument("--drawn", type=int, default=DRAWN, help=f"random passes, default: {DRAWN}")
    options.add_argument("--seconds", type=float, default=float("inf"), help="of tracing; default: no end")
    options.add_argument("--cache", type=Path, default=Path("traced"), help="default: traced")
    given = options.parse_args()
    kernels = given.miopen / "src/kernels"
    if not kernels.is_dir():
        options.error(f"--miopen {given.miopen}: no src/kernels; give MIOpen's source at tag rocm-4.0.1")
    given.cache.mkdir(parents=True, exist_ok=True)
    every, runs = candidates(given.drawn)
    cost = {facts: expected(each) for facts, each in every.items() if each.size <= MOST_BYTES}
    small = {facts: every[facts] for facts, number in cost.items() if number <= MOST_INSTRUCTIONS}
    chosen = in_order(small, cost, runs)
    kept = trace_all(chosen, Tools(kernels, given.cache.resolve(), time.time() + given.seconds), given.jobs)
    data, most = fitting(chosen, kept)
    with atomic_write(given.out) as part:
        part.write_bytes(data)
    print(report(len(every), chosen, kept, len(every) - len(small), most), file=sys.stderr)


if __name__ == "__main__":
    main()
