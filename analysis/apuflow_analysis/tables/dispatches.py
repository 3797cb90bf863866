"""The kernels that two runs dispatched, side by side: what a program launches beside its layers' kernels.

Both come from gem5's traces (``dispatches`` of a run's record), so that cycles mean the same on both sides:
from a kernel's first workgroup to the end of its last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.errors import AnalysisError
from apuflow.core.record import DispatchRecord, LaunchRecord, RunRecord, Status, read_run
from apuflow.core.units import clock_hertz
from apuflow_analysis.tables.kernels import UNNAMED
from apuflow_analysis.tables.tables import columns

TICKS_PER_SECOND = 10**12
"""gem5's, in every run of apu_se.py (``simFreq``)."""

PARTS: tuple[tuple[str, str], ...] = (
    ("before", "before the first kernel"),
    ("layer", "kernels of the layers"),
    ("other", "other kernels: copies and fills"),
    ("between", "between kernels"),
    ("after", "after the last kernel"),
)
"""What a run's time consists of."""

_Key = tuple[str, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class _Dispatched:
    """A run and its kernels.

    Attributes:
        launches: for each of its dispatches the launch of the layers that it is; None: of the runtime.
        keys: what its dispatches are told apart by.
        cycle: ticks of a GPU cycle.
    """

    record: RunRecord
    launches: list[LaunchRecord | None]
    keys: list[_Key]
    cycle: float


@dataclass(frozen=True)
class DispatchComparison:
    """Two runs' kernels.

    Attributes:
        table: one row per kernel: ``in`` (both, A, B), what it is, cycles and registers on both sides.
        parts: one row per part of ``PARTS``: kernels and cycles on both sides.
        notes: what differs between the machines and pieces of work.
        names: the two runs, engine first.
    """

    table: pd.DataFrame
    parts: pd.DataFrame
    notes: tuple[str, ...]
    names: tuple[str, str]


def _dispatched(directory: str | Path) -> _Dispatched:
    """The kernels of a run, those of its layers named."""
    file = Path(directory) / "run.json"
    record = read_run(file)
    if record.status is not Status.COMPLETED:
        raise AnalysisError("the run did not complete", file=file, key="status", value=record.status.value)
    if not record.dispatches:
        remedy = "it is of an older apuflow, or of gem5.fast, which cannot trace: remove its directory and "
        remedy += "start the workflow again, with gem5.opt"
        message = "the run has no trace of its kernels"
        raise AnalysisError(message, file=file, key="dispatches", remedy=remedy)
    if any(one.launched is None or one.completed is None for one in record.dispatches):
        raise AnalysisError("the trace has a kernel that did not end", file=file, key="dispatches")
    if any(launch.ran is not None for launch in record.launches):
        message = "the run did not launch all workgroups of its kernels: its trace is not that of whole ones"
        remedy = "compare a run of a sweep without the key workgroups"
        raise AnalysisError(message, file=file, key="launches", remedy=remedy)
    clock = clock_hertz(str(record.options.get("gpu-clock", "1GHz")))
    if clock is None:
        raise AnalysisError("not a clock", file=file, key="options.gpu-clock")
    wanted = [_key("", one) for one in record.launches]
    given = [_key("", one) for one in record.dispatches]
    launches: list[LaunchRecord | None] = [None] * len(given)
    for left, right in _pairs(wanted, given):
        launches[right] = record.launches[left]
    pairs = zip(launches, record.dispatches, strict=True)
    keys = [_key(launch.kernel if launch else UNNAMED, one) for launch, one in pairs]
    return _Dispatched(record, launches, keys, TICKS_PER_SECOND / clock)


def compare_dispatches(a: str | Path, b: str | Path) -> DispatchComparison:
    """Two runs of the same work on the same machine, kernel by kernel.

    Kernels are paired in their order by name, grid and workgroup; the rest is in one run alone.

    Args:
        a, b: run directories, usually of engines gem5 and gem5-kernels.

    Raises:
        AnalysisError: no such run, it did not complete, its trace is missing or has a kernel without end,
            or the runs are of GPUs of other sizes.
    """
    sides = _dispatched(a), _dispatched(b)
    _same_gpu(sides[0].record, sides[1].record, Path(b) / "run.json")
    ours, theirs = (side.keys for side in sides)
    rows = []
    next_a = next_b = 0
    for left, right in [*_pairs(ours, theirs), (len(ours), len(theirs))]:
        rows += [_row(sides, number, None) for number in range(next_a, left)]
        rows += [_row(sides, None, number) for number in range(next_b, right)]
        if left < len(ours):
            rows.append(_row(sides, left, right))
        next_a, next_b = left + 1, right + 1
    table = pd.DataFrame(rows)
    table["ratio"] = table["cycles_b"] / table["cycles_a"]
    table["difference"] = table["cycles_b"] - table["cycles_a"]
    kernels, cycles = zip(*(_parts(side) for side in sides), strict=True)
    parts = pd.DataFrame(list(PARTS), columns=["part", "meaning"])
    for what, of_sides in (("kernels", kernels), ("cycles", cycles)):
        for label, counted in zip("ab", of_sides, strict=True):
            parts[f"{what}_{label}"] = [counted[name] for name, _ in PARTS]
    name_a, name_b = (f"{one.record.engine} {one.record.workload} {one.record.point}" for one in sides)
    return DispatchComparison(table, parts, _notes(*sides), (name_a, name_b))


def _key(name: str, sizes: LaunchRecord | DispatchRecord) -> _Key:
    """Sizes in three dimensions: a launch says only those that it has."""
    return name, (*sizes.grid, 1, 1)[:3], (*sizes.workgroup, 1, 1)[:3]


def _pairs(left: Sequence[_Key], right: Sequence[_Key]) -> list[tuple[int, int]]:
    """Places of equal keys in both lists, in order."""
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]


def _same_gpu(a: RunRecord, b: RunRecord, file: Path) -> None:
    for key in ("gfx-version", "num-compute-units", "gpu-clock"):
        ours, theirs = a.options.get(key), b.options.get(key)
        if ours != theirs:
            message = f"the runs are of different GPUs: {key} is {ours} in A"
            remedy = "compare runs of one point of a sweep with two engines"
            raise AnalysisError(message, file=file, key=f"options.{key}", value=theirs, remedy=remedy)


def _row(sides: Sequence[_Dispatched], a: int | None, b: int | None) -> dict[str, Any]:
    side, number = (sides[0], a) if a is not None else (sides[1], b)
    assert number is not None
    launch, one = side.launches[number], side.record.dispatches[number]
    row: dict[str, Any] = {
        "in": "both" if None not in (a, b) else "A" if a is not None else "B",
        "kernel": launch.kernel if launch else UNNAMED,
        "layer": (launch.layer if launch else None) or "",
        "direction": (launch.direction if launch else None) or "",
        "called": one.name,
        "grid": "x".join(map(str, one.grid)),
        "workgroup": "x".join(map(str, one.workgroup)),
    }
    return row | _measured(sides[0], a, "a") | _measured(sides[1], b, "b")


def _measured(side: _Dispatched, number: int | None, label: str) -> dict[str, Any]:
    """What one run says of a kernel; empty where it has none."""
    names = ("dispatch", "cycles", "waited", "vector_registers", "scalar_registers", "code", "arguments")
    if number is None:
        return {f"{name}_{label}": None if name in ("code", "arguments") else np.nan for name in names}
    one = side.record.dispatches[number]
    launched, completed = one.launched or 0, one.completed or 0
    values = (
        number,
        (completed - launched) / side.cycle,
        (launched - one.submitted) / side.cycle,
        one.vector_registers,
        one.scalar_registers,
        None if one.code is None else hex(one.code),
        hex(one.arguments),
    )
    return {f"{name}_{label}": value for name, value in zip(names, values, strict=True)}


def _parts(side: _Dispatched) -> tuple[dict[str, int], dict[str, float]]:
    """Kernels and GPU cycles of each part of a run. Kernels that overlap count for themselves."""
    spans = sorted((one.launched or 0, one.completed or 0) for one in side.record.dispatches)
    covered, end = 0, spans[0][0]
    for start, stop in spans:
        covered += max(0, stop - max(start, end))
        end = max(end, stop)
    ticks = dict.fromkeys((name for name, _ in PARTS), 0)
    kernels = dict(ticks)
    for one, launch in zip(side.record.dispatches, side.launches, strict=True):
        part = "other" if launch is None else "layer"
        kernels[part] += 1
        ticks[part] += (one.completed or 0) - (one.launched or 0)
    ticks["before"] = spans[0][0]
    ticks["between"] = end - spans[0][0] - covered
    ticks["after"] = max(0, (side.record.ticks or end) - end)
    return kernels, {name: value / side.cycle for name, value in ticks.items()}


def _notes(a: _Dispatched, b: _Dispatched) -> tuple[str, ...]:
    notes = []
    for label, side in zip("AB", (a, b), strict=True):
        lost = len(side.record.launches) - sum(launch is not None for launch in side.launches)
        if lost:
            notes.append(
                f"{lost} of the {len(side.record.launches)} launches that the layers of {label} were "
                "expected to make are not in its trace"
            )
    if a.record.workload != b.record.workload:
        notes.append(f"other workloads: {a.record.workload} and {b.record.workload}")
    left, right = a.record.options, b.record.options
    differ = [name for name in sorted({*left, *right}) if left.get(name) != right.get(name)]
    if differ:
        told = (f"{name} ({left.get(name)}, {right.get(name)})" for name in differ)
        notes.append(f"options that differ: {', '.join(told)}")
    return tuple(notes)


def run_pairs(table: pd.DataFrame, a: str, b: str) -> list[tuple[tuple[str, str, str], tuple[str, str, str]]]:
    """The runs of two engines in one table that are of the same point: engine, workload and point of each.

    Raises:
        AnalysisError: the table has no point that both have completed.
    """
    axes = [column.name for column in columns(table) if column.kind == "axis"]
    done = table[table["status"] == Status.COMPLETED.value]
    sides = []
    for engine in (a, b):
        rows = done[done["engine"] == engine]
        keys = [tuple(map(str, row)) for row in rows[["workload", *axes]].itertuples(index=False, name=None)]
        points = rows[["engine", "workload", "point"]].itertuples(index=False, name=None)
        sides.append(dict(zip(keys, points, strict=True)))
    pairs = [(sides[0][key], sides[1][key]) for key in sides[0] if key in sides[1]]
    if not pairs:
        message = f"the table has no point that {a} and {b} have both completed"
        remedy = f"it has {', '.join(sorted(set(table['engine'])))}; name two runs, or --engines"
        raise AnalysisError(message, key="engine", remedy=remedy)
    return pairs
