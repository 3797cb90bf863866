"""Trace launches of MIOpen's kernels and of our own by the interpreter, for the preview's table of launches.

    python benchmarks/traced_launches.py --miopen DIR workflow/apuflow/preview/kernels/launches.csv.xz

DIR is MIOpen's source at tag rocm-4.0.1. Nothing is fetched; clang 15 and ROCm's device libraries have to be
installed (``apuflow doctor``). Launches are those of the recorded runs but the held-out ones, of the suites,
and of random layers and operations. What was traced is kept in ``--cache`` and in the table: a second run
goes on there.
``--seconds`` ends the tracing, not the writing. Columns: ``apuflow.preview.kernels.traced.GIVEN``, resources,
``apuflow.preview.kernels.totals.TOTALS``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from measuring import ROOT

sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "analysis")]

import layer_passes  # noqa: E402
from launch_table import RESOURCES, SHARE, Records, Traceable, fitting, in_order, read_table  # noqa: E402

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
from apuflow.miopen.compiler import Compiler, host_compiler  # noqa: E402
from apuflow.miopen.objects import compile_object  # noqa: E402
from apuflow.preview.kernels.facts import Facts, facts_of  # noqa: E402
from apuflow.preview.kernels.registry import formula, profile  # noqa: E402

RELEASES = {"gfx902": "v24.0", "gfx801": "v23.0"}
"""By GPU, the gem5 release for whose defects kernels are compiled."""
MOST_INSTRUCTIONS = 3_000_000
"""Wavefront instructions of a launch that is traced: about 10 s."""
UNKNOWN = 300
"""Instructions of a wavefront, where the preview does not know them."""
MOST_BYTES = 1 << 29
"""Of a launch's buffers."""
SEED, DRAWN = 63, 300


def is_traced(kernel: str) -> bool:
    """Whether a kernel's launches are for the table."""
    return formula(kernel) is None


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
        for gfx in SHARE:
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


# tracing -------------------------------------------------------------------------------------------------
class Tools(NamedTuple):
    """MIOpen's kernels, where objects and traces are kept, and the time of the clock when tracing ends."""

    kernels: Path
    kept: Path
    end: float


@cache
def compiler(gfx: str) -> Compiler:
    """clang with the corrections for the release."""
    return correcting(
        host_compiler(code_object=4), load_release(RELEASES[gfx], ROOT).instruction_defects(gfx)
    )


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


def trace_all(every: Sequence[Traceable], known: Records, tools: Tools, jobs: int) -> Records:
    """Records by key, of those known or kept and of those traced until the time is over."""
    file = tools.kept / "traced.jsonl"
    kept = known | {one["key"]: one for one in _read(file)}
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
    options.add_argument("--kernels", default="", help="trace those whose name has this pattern")
    options.add_argument("--cache", type=Path, default=Path("build/traced"), help="default: build/traced")
    given = options.parse_args()
    kernels = given.miopen / "src/kernels"
    if not kernels.is_dir():
        options.error(f"--miopen {given.miopen}: no src/kernels; give MIOpen's source at tag rocm-4.0.1")
    given.cache.mkdir(parents=True, exist_ok=True)
    every, runs = candidates(given.drawn)
    cost = {facts: expected(each) for facts, each in every.items() if each.size <= MOST_BYTES}
    small = {facts: every[facts] for facts, number in cost.items() if number <= MOST_INSTRUCTIONS}
    chosen = in_order(small, cost, runs)
    wanted = [each for each in chosen if re.search(given.kernels, each.launch.kernel)]
    tools = Tools(kernels, given.cache.resolve(), time.time() + given.seconds)
    kept = trace_all(wanted, read_table(given.out), tools, given.jobs)
    data, most = fitting(chosen, kept)
    with atomic_write(given.out) as part:
        part.write_bytes(data)
    print(report(len(every), chosen, kept, len(every) - len(small), most), file=sys.stderr)


if __name__ == "__main__":
    main()
