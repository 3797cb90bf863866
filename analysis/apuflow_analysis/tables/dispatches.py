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
class Dispatched:
    """A run and its kernels.

    Attributes:
        record: of the run.
        launches: for each of its dispatches the launch of the layers that it is; None: of the runtime.
        cycle: ticks of a GPU cycle.
    """

    record: RunRecord
    launches: tuple[LaunchRecord | None, ...]
    cycle: float

    @property
    def dispatches(self) -> Sequence[DispatchRecord]:
        """In the order in which gem5 took them."""
        return self.record.dispatches


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


def dispatched(directory: str | Path) -> Dispatched:
    """The kernels of a run, those of its layers named.

    Raises:
        AnalysisError: no such run, it did not complete, has no trace, or a kernel that did not end.
    """
    file = Path(directory) / "run.json"
    record = read_run(file)
    if record.status is not Status.COMPLETED:
        raise AnalysisError("the run did not complete", file=file, key="status", value=record.status.value)
    if not record.dispatches:
        raise AnalysisError(
            "the run has no trace of its kernels",
            file=file,
            key="dispatches",
            remedy="it is of an older apuflow, or of gem5.fast, which cannot trace: remove its directory and "
            "start the workflow again, with gem5.opt",
        )
    if any(one.launched is None or one.completed is None for one in record.dispatches):
        raise AnalysisError("the trace has a kernel that did not end", file=file, key="dispatches")
    if any(launch.ran is not None for launch in record.launches):
        raise AnalysisError(
            "the run did not launch all workgroups of its kernels: its trace is not that of whole ones",
            file=file,
            key="launches",
            remedy="compare a run of a sweep without the key workgroups",
        )
    clock = clock_hertz(str(record.options.get("gpu-clock", "1GHz")))
    if clock is None:
        raise AnalysisError("not a clock", file=file, key="options.gpu-clock")
    wanted = [_key("", one.grid, one.workgroup) for one in record.launches]
    given = [_key("", one.grid, one.workgroup) for one in record.dispatches]
    launches: list[LaunchRecord | None] = [None] * len(given)
    for left, right in _pairs(wanted, given):
        launches[right] = record.launches[left]
    return Dispatched(record, tuple(launches), TICKS_PER_SECOND / clock)


def compare_dispatches(a: str | Path, b: str | Path) -> DispatchComparison:
    """Two runs of the same work on the same machine, kernel by kernel.

    Kernels are paired in their order by name, grid and workgroup; what is left over stands in one run alone.

    Args:
        a, b: run directories, usually of engines gem5 and gem5-kernels.

    Raises:
        AnalysisError: as ``dispatched``, or the runs are of GPUs of other sizes.
    """
    sides = dispatched(a), dispatched(b)
    _same_gpu(sides[0].record, sides[1].record, Path(b) / "run.json")
    keys = [
        [
            _key(launch.kernel if launch else UNNAMED, one.grid, one.workgroup)
            for launch, one in zip(side.launches, side.dispatches, strict=True)
        ]
        for side in sides
    ]
    rows = []
    at = [0, 0]
    for left, right in [*_pairs(*keys), (len(keys[0]), len(keys[1]))]:
        rows += [_row(sides, number, None) for number in range(at[0], left)]
        rows += [_row(sides, None, number) for number in range(at[1], right)]
        if left < len(keys[0]):
            rows.append(_row(sides, left, right))
        at = [left + 1, right + 1]
    table = pd.DataFrame(rows)
    table["ratio"] = table["cycles_b"] / table["cycles_a"]
    table["difference"] = table["cycles_b"] - table["cycles_a"]
    parts = pd.DataFrame(
        [
            {"part": name, "meaning": meaning}
            | {f"kernels_{label}": counted[name][0] for label, counted in zip("ab", shares, strict=True)}
            | {f"cycles_{label}": counted[name][1] for label, counted in zip("ab", shares, strict=True)}
            for shares in [[_parts(side) for side in sides]]
            for name, meaning in PARTS
        ]
    )
    names = tuple(f"{side.record.engine} {side.record.workload} {side.record.point}" for side in sides)
    return DispatchComparison(table, parts, _notes(*sides), (names[0], names[1]))


def _key(name: str, grid: tuple[int, ...], workgroup: tuple[int, ...]) -> _Key:
    """Sizes in three dimensions: a launch says only those that it has."""
    return name, (*grid, 1, 1)[:3], (*workgroup, 1, 1)[:3]


def _pairs(left: Sequence[_Key], right: Sequence[_Key]) -> list[tuple[int, int]]:
    """Places of equal keys in both lists, in order."""
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]


def _same_gpu(a: RunRecord, b: RunRecord, file: Path) -> None:
    for key in ("gfx-version", "num-compute-units", "gpu-clock"):
        if a.options.get(key) != b.options.get(key):
            raise AnalysisError(
                f"the runs are of different GPUs: {key} is {a.options.get(key)} in A",
                file=file,
                key=f"options.{key}",
                value=b.options.get(key),
                remedy="compare runs of one point of a sweep with two engines",
            )


def _row(sides: Sequence[Dispatched], a: int | None, b: int | None) -> dict[str, Any]:
    places = (a, b)
    side, number = (sides[0], a) if a is not None else (sides[1], b)
    assert number is not None
    launch, one = side.launches[number], side.dispatches[number]
    row: dict[str, Any] = {
        "in": "both" if None not in places else "A" if a is not None else "B",
        "kernel": launch.kernel if launch else UNNAMED,
        "layer": (launch.layer if launch else None) or "",
        "direction": (launch.direction if launch else None) or "",
        "called": one.name,
        "grid": "x".join(map(str, one.grid)),
        "workgroup": "x".join(map(str, one.workgroup)),
    }
    for label, each, place in zip("ab", sides, places, strict=True):
        row |= _measured(each, place, label)
    return row


def _measured(side: Dispatched, number: int | None, label: str) -> dict[str, Any]:
    """What one run says of a kernel; empty where it has none."""
    names = ("dispatch", "cycles", "waited", "vector_registers", "scalar_registers", "code", "arguments")
    if number is None:
        return {f"{name}_{label}": None if name in ("code", "arguments") else np.nan for name in names}
    one = side.dispatches[number]
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


def _parts(side: Dispatched) -> dict[str, tuple[int, float]]:
    """Kernels and GPU cycles of each part of a run. Kernels that overlap count for themselves."""
    spans = sorted((one.launched or 0, one.completed or 0) for one in side.dispatches)
    covered, end = 0, spans[0][0]
    for start, stop in spans:
        covered += max(0, stop - max(start, end))
        end = max(end, stop)
    lasts = [(one.completed or 0) - (one.launched or 0) for one in side.dispatches]
    ticks = {
        "before": spans[0][0],
        "layer": sum(last for last, launch in zip(lasts, side.launches, strict=True) if launch is not None),
        "other": sum(last for last, launch in zip(lasts, side.launches, strict=True) if launch is None),
        "between": end - spans[0][0] - covered,
        "after": max(0, (side.record.ticks or end) - end),
    }
    ours = sum(launch is not None for launch in side.launches)
    kernels = {"layer": ours, "other": len(side.launches) - ours}
    return {name: (kernels.get(name, 0), value / side.cycle) for name, value in ticks.items()}


def _notes(a: Dispatched, b: Dispatched) -> tuple[str, ...]:
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
    names = sorted(a.record.options.keys() | b.record.options.keys())
    differ = [
        f"{name} ({a.record.options.get(name)}, {b.record.options.get(name)})"
        for name in names
        if a.record.options.get(name) != b.record.options.get(name)
    ]
    if differ:
        notes.append(f"options that differ: {', '.join(differ)}")
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
        raise AnalysisError(
            f"the table has no point that {a} and {b} have both completed",
            key="engine",
            remedy=f"it has {', '.join(sorted(set(table['engine'])))}; name two runs, or --engines",
        )
    return pairs
