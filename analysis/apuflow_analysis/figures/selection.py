"""What of a table a figure draws: completed rows, the axis across, the lines, and what is held fixed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.engines import ENGINES, SIMULATING, engine_facts
from apuflow.core.words import many
from apuflow_analysis.figures import interval
from apuflow_analysis.figures.axis import COMPUTE_UNITS, Axis, axis, axis_columns, label, short_label
from apuflow_analysis.figures.choice import FigureError, across, choice_of, effects, held_at, matching, ranked
from apuflow_analysis.tables.columns import WRONG

COMPLETED = "completed"
MOST_LINES = 8
"""Lines in one panel that a reader can still tell apart."""

COMBINATION = "_combination"
"""Column that names the values of the further axes that a row's line stands for."""

DIRECTIONS = {"fwd": "forward", "bwd": "backward", "both": "forward and backward", "": "all kernels"}
"""Names of a point's direction; kernels and programs of one's own have none."""
_PROGRAMS = ("conv", "pool", "lrn", "activation", "fc", "softmax", "bn", "dropout", "bypass")


@dataclass(frozen=True)
class Selection:
    """The rows of a figure and how they are told apart.

    Attributes:
        rows: completed rows, with the columns ``program`` and ``_combination``.
        x: the axis across, or None when nothing varies.
        combinations: distinct values of ``_combination`` in order; ``("",)`` when there is no further axis.
        ordered: whether they are sizes along one axis.
        programs: panel names in order.
        keys: columns of the further axes, whether lines or held.
        baseline: values that speedups are relative to, by column.
        notes: what the reader must be told.
    """

    rows: pd.DataFrame
    x: Axis | None
    combinations: tuple[str, ...]
    ordered: bool
    programs: tuple[str, ...]
    directions: tuple[str, ...]
    engines: tuple[str, ...]
    keys: tuple[str, ...]
    baseline: Mapping[str, Any]
    notes: tuple[str, ...]


def combine(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The tables of a sweep's workloads as one, its axes being those of all of them."""
    axes = tuple(dict.fromkeys(name for frame in frames for name in frame.attrs.get("axes", ())))
    bare = []
    for frame in frames:
        copy = frame.copy()
        copy.attrs = {}
        bare.append(copy.dropna(axis="columns", how="all"))
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    joined = pd.concat(bare, ignore_index=True).reindex(columns=names)
    joined.attrs["axes"] = axes
    return joined


def completed(
    frame: pd.DataFrame, where: Mapping[str, Any] | None = None, *, wrong_too: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Rows that carry numbers, with ``program`` added, and notes on what was left out.

    Args:
        wrong_too: keep rows whose kernels computed something else than they should.

    Raises:
        FigureError: a column of ``where`` is unknown, or no row is left.
    """
    notes: list[str] = []
    absent = [name for name in ("engine", "workload", "direction", "status") if name not in frame.columns]
    if absent:
        raise FigureError("this is not a result table: a column is missing", key=absent[0])
    rows = frame
    for column, wanted in (where or {}).items():
        if column not in rows.columns:
            raise FigureError("no such column to select by", key=column, remedy="use a column of the table")
        chosen = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
        rows = rows[rows[column].isin(chosen)]
        notes.append(f"{label(column)}: {', '.join(map(str, chosen))}")
    done = rows[rows["status"] == COMPLETED].copy()
    if len(done) < len(rows):
        notes.append(f"{len(rows) - len(done)} of {len(rows)} points did not complete and are not drawn")
    done = done if wrong_too else _right(done, notes)
    if done.empty:
        raise FigureError(
            "no completed point to draw",
            value=f"{len(rows)} rows selected",
            remedy="see the column evidence for what went wrong, or select other rows",
        )
    done["direction"] = done["direction"].fillna("")
    done["program"] = [re.sub(r"_(fwd|bwd)$", "", str(name)) for name in done["workload"]]
    done.attrs = dict(frame.attrs)
    return done, notes


def _right(done: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Without rows whose kernels computed something else than they should."""
    if "flags" not in done.columns:
        return done
    wrong = done["flags"].fillna("").astype(str).str.contains(WRONG, regex=False)
    if wrong.any():
        names = ", ".join(sorted(set(map(str, done.loc[wrong, "workload"]))))
        points = many(int(wrong.sum()), "point")
        notes.append(f"{points} of {names} computed wrong values (column flags) and are not drawn")
    return done[~wrong].copy()


def select(
    frame: pd.DataFrame,
    needed: Sequence[str],
    *,
    x: str | None = None,
    where: Mapping[str, Any] | None = None,
    most: int | None = None,
) -> Selection:
    """Decide what goes across, what makes lines and what is held.

    Args:
        frame: a result table, or several combined.
        needed: columns of which each row must have a number to be drawn.
        x: column to put across; by default as the sweep says, else the axis with the greatest effect.
        where: rows to keep: column to a value or several.
        most: combinations of further axes to keep per program; by default what MOST_LINES leaves.

    Raises:
        FigureError: a needed column is missing or empty, or ``x`` does not vary.
    """
    choice = choice_of(frame)
    rows, notes = completed(frame, where)
    rows = _with_numbers(rows, needed, notes)
    varying = [axis(rows, name) for name in axis_columns(rows)]
    if x is None and choice.x in {candidate.column for candidate in varying}:
        x = choice.x
    leaders, _ = independent(rows, varying, [], x)
    effect = effects(rows, leaders)
    chosen = across(leaders, effect, x)
    if chosen is not None:
        rows = _with_numbers(rows, [chosen.column], notes)
    others = [candidate for candidate in varying if chosen is None or candidate.column != chosen.column]
    keys, follows = independent(rows, others, [chosen.column] if chosen else [])
    keys = ranked(keys, effect, choice.lines)
    notes += together_notes(rows, follows, [*([chosen] if chosen is not None else []), *keys])
    engines = engines_of(rows)
    directions = tuple(name for name in DIRECTIONS if name in set(rows["direction"]))
    limit = most or max(2, MOST_LINES // (len(directions) * len(engines)))
    held: dict[str, dict[str, str]] = {}
    rows, combinations, ordered = hold(rows, keys, limit, held)
    factors = {key.label: effect[key.column] for key in keys if key.column in effect}
    notes += held_notes(held, rows["program"].nunique(), factors)
    names = tuple(sorted(pd.unique(rows["program"]), key=_place))
    if chosen is not None:
        chosen = axis(rows, chosen.column)
    baseline = {
        name: matching(axis(rows, name), value)
        for name, value in choice.baseline.items()
        if name in rows.columns
    }
    return Selection(
        rows,
        chosen,
        combinations,
        ordered,
        names,
        directions,
        engines,
        tuple(key.column for key in keys),
        {name: value for name, value in baseline.items() if value is not None},
        (machine_note(rows, engines), *interval.note(rows), *notes),
    )


def independent(
    rows: pd.DataFrame, axes: Sequence[Axis], given: Sequence[str], first: str | None = None
) -> tuple[list[Axis], list[Axis]]:
    """Split axes into those that tell rows apart and those that others determine (lists that go together).

    Axes of more values are taken first: of lists that go together, one that repeats a value does not
    determine the others.

    Args:
        given: columns that tell rows apart already.
        first: the axis to take before all others.
    """
    keys: list[Axis] = []
    for candidate in sorted(axes, key=lambda axis: (axis.column != first, -len(axis.values))):
        by = ["engine", "workload", *given, *(key.column for key in keys)]
        counts = rows.groupby(by, dropna=False, sort=False)[candidate.column].nunique(dropna=False)
        if counts.max() > 1:
            keys.append(candidate)
    return [axis for axis in axes if axis in keys], [axis for axis in axes if axis not in keys]


def together_notes(rows: pd.DataFrame, follows: Sequence[Axis], leading: Sequence[Axis]) -> list[str]:
    """With which axis each of the others advances; nothing of one that a workload has at a single value."""
    partners: dict[str, list[str]] = {}
    for candidate in follows:
        if _most_values(rows, candidate, []) <= 1:
            continue
        leaders = (axis.label for axis in leading if _most_values(rows, candidate, [axis.column]) <= 1)
        several = " and ".join(axis.label for axis in leading)
        partners.setdefault(next(leaders, several), []).append(candidate.label)
    return [f"{' and '.join(names)}: set together with {leader}" for leader, names in partners.items()]


def _most_values(rows: pd.DataFrame, candidate: Axis, given: Sequence[str]) -> int:
    """The most values that an axis has where engine, workload and ``given`` are the same."""
    groups = rows.groupby(["engine", "workload", *given], dropna=False, sort=False)
    return int(groups[candidate.column].nunique(dropna=False).max())


def engines_of(rows: pd.DataFrame) -> tuple[str, ...]:
    """The engines of the rows, gem5 first."""
    present = set(map(str, rows["engine"]))
    return tuple(name for name in (*ENGINES, *sorted(present - set(ENGINES))) if name in present)


def _place(name: str) -> tuple[int, str]:
    return (_PROGRAMS.index(name) if name in _PROGRAMS else len(_PROGRAMS), name)


def reading_order(workload: str) -> tuple[int, str, int]:
    """Sort key of a workload: DNNMark's order of programs, forward before backward."""
    return (*_place(re.sub(r"_(fwd|bwd)$", "", workload)), int(workload.endswith("_bwd")))


def _with_numbers(rows: pd.DataFrame, needed: Sequence[str], notes: list[str]) -> pd.DataFrame:
    for name in needed:
        if name not in rows.columns:
            raise FigureError("the table lacks a column that this figure shows", key=name)
    kept = rows.dropna(subset=list(needed))
    if kept.empty:
        empty = [name for name in needed if rows[name].isna().all()] or list(needed)
        engines = ", ".join(sorted(set(map(str, rows["engine"]))))
        raise FigureError(
            "the table has no value of what this figure shows",
            key=", ".join(empty),
            remedy=f"engine {engines} does not report it; run the sweep with one that does",
        )
    if len(kept) < len(rows):
        absent = sorted({f"{row.workload} ({row.engine})" for row in rows.drop(kept.index).itertuples()})
        shown = ", ".join(absent[:4]) + (f" and {len(absent) - 4} more" if len(absent) > 4 else "")
        notes.append(f"no value for {shown}")
    kept.attrs = dict(rows.attrs)
    return kept


def hold(
    rows: pd.DataFrame, keys: Sequence[Axis], limit: int, held: dict[str, dict[str, str]]
) -> tuple[pd.DataFrame, tuple[str, ...], bool]:
    """Keep at most ``limit`` combinations of the axes per program, and name them in ``_combination``.

    Args:
        rows: rows with ``program``.
        keys: the further axes, the most important first; the last are held first.
        limit: combinations to keep.
        held: filled with what is kept of an axis, by its label and the program.

    Returns:
        The rows kept, the combinations in order, and whether they are sizes along one axis.
    """
    choice = choice_of(rows)
    parts: list[pd.DataFrame] = []
    varying: dict[str, None] = {}
    places: dict[str, tuple[float, ...]] = {}
    for program in pd.unique(rows["program"]):
        own = rows[rows["program"] == program]
        axes = _varying(own, [key.column for key in keys])
        while axes:
            least = axes[-1]
            unwanted = choice.lines is not None and least.column not in choice.lines
            if not unwanted and np.prod([len(varied.values) for varied in axes], dtype=float) <= limit:
                break
            value = held_at(own, least, choice.baseline)
            kept = (value,) if unwanted or len(least.values) <= 3 or limit < 3 else _spread(least, value)
            own = own[own[least.column].isin(kept)]
            held.setdefault(least.label, {})[str(program)] = ", ".join(map(least.text, kept))
            axes = _varying(own, [varied.column for varied in axes])
        varying |= {varied.column: None for varied in axes}
        texts = []
        for _, row in own.iterrows():
            text = ", ".join(
                f"{short_label(varied.column)} {varied.text(row[varied.column])}" for varied in axes
            )
            places[text] = tuple(varied.positions[row[varied.column]] for varied in axes)
            texts.append(text)
        parts.append(own.assign(**{COMBINATION: texts}))
    kept_rows = pd.concat(parts)
    kept_rows.attrs = dict(rows.attrs)
    ordered = len(varying) == 1 and all(axis(kept_rows, name).numeric for name in varying)
    return kept_rows, tuple(sorted(places, key=lambda text: (len(places[text]), places[text], text))), ordered


def _varying(own: pd.DataFrame, columns: Sequence[str]) -> list[Axis]:
    return [axis(own, name) for name in columns if own[name].nunique() > 1]


def _spread(of: Axis, value: Any) -> tuple[Any, ...]:
    """Three values of an axis: its ends, and what is held or stands in the middle."""
    first, last = of.values[0], of.values[-1]
    middle = of.values[len(of.values) // 2] if value in (first, last) else value
    return first, middle, last


def held_notes(
    held: Mapping[str, Mapping[str, str]], programs: int, factors: Mapping[str, float]
) -> list[str]:
    """What ``hold`` kept, one note per axis: values, for which programs where they differ, and its effect."""
    notes = []
    for name, by_program in held.items():
        users: dict[str, list[str]] = {}
        for program, values in by_program.items():
            users.setdefault(values, []).append(program)
        same = len(users) == 1 and len(by_program) == programs
        texts = [values if same else f"{values} ({', '.join(names)})" for values, names in users.items()]
        changes = f" (changes the GPU time {factors[name]:.2f}x)" if name in factors else ""
        notes.append(f"{name}: drawn at {'; '.join(texts)}{changes}")
    return notes


def machine_note(rows: pd.DataFrame, engines: Sequence[str]) -> str:
    """Which engines made the rows and what their machines have in common."""
    parts = ["Engine" + ("s" if len(engines) > 1 else "") + ": "]
    parts[0] += "; ".join(engine_facts(name).title for name in engines)
    for name, text in (
        ("gfx", "{}"),
        ("release", "gem5 {}" if any(name in SIMULATING for name in engines) else "options of gem5 {}"),
        ("gpu_clock", "GPU at {}"),
        (COMPUTE_UNITS, "{:g} compute units"),
    ):
        if name in rows.columns and rows[name].nunique() == 1:
            parts.append(text.format(rows[name].dropna().iloc[0]))
    return " · ".join(parts)
