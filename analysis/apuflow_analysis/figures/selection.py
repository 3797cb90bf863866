"""What of a table a figure draws: completed rows, the axis across, the lines, and what is held fixed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from apuflow.core.engines import ENGINES, SIMULATING, engine_facts
from apuflow.core.products import BOTH, joined
from apuflow.core.words import many
from apuflow_analysis.figures import interval
from apuflow_analysis.figures.axis import (
    COMPUTE_UNITS,
    Axis,
    FigureError,
    Where,
    axes_of,
    axis,
    choice_of,
    held_at,
    independent,
    label,
    matching,
    ranked,
    short_label,
)
from apuflow_analysis.tables.columns import PRODUCTS, WRONG, flagged
from apuflow_analysis.tables.records import COMPLETED

MOST_LINES = 8
"""Lines in one panel that a reader can still tell apart."""

COMBINATION = "_combination"
"""Column that names the values of the further axes of a row's line."""

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

    @property
    def x_label(self) -> str | None:
        """What to write at the axis across, if there is one."""
        return self.x.label if self.x is not None else None


def combine(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The tables of a sweep's workloads as one, its axes being those of all of them."""
    axes = tuple(dict.fromkeys(name for frame in frames for name in frame.attrs.get("axes", ())))
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    known = [frame.dropna(axis="columns", how="all") for frame in frames]
    joined = pd.concat(known, ignore_index=True).reindex(columns=names)
    joined.attrs = {"axes": axes}
    return joined


def completed(
    frame: pd.DataFrame, where: Where = None, *, wrong_too: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Rows that carry numbers, with ``program`` added, and notes on what was left out.

    Args:
        wrong_too: keep rows whose kernels computed something else than they should.

    Raises:
        FigureError: a column of ``where`` is unknown, or no row is left.
    """
    absent = [name for name in ("engine", "workload", "direction", "status") if name not in frame.columns]
    if absent:
        raise FigureError("this is not a result table: a column is missing", key=absent[0])
    rows, notes = selected(frame, where)
    done = rows[rows["status"] == COMPLETED].copy()
    if len(done) < len(rows):
        notes.append(f"{len(rows) - len(done)} of {len(rows)} points did not complete and are not drawn")
    if not wrong_too and (wrong := flagged(done, WRONG)).any():
        names = ", ".join(sorted(set(map(str, done.loc[wrong, "workload"]))))
        points = many(int(wrong.sum()), "point")
        notes.append(f"{points} of {names} computed wrong values (column flags) and are not drawn")
        done = done[~wrong].copy()
    if done.empty:
        value = f"{len(rows)} rows selected"
        remedy = "see the column evidence for what went wrong, or select other rows"
        raise FigureError("no completed point to draw", value=value, remedy=remedy)
    done["direction"] = done["direction"].fillna("")
    done["program"] = [re.sub(r"_(fwd|bwd)$", "", str(name)) for name in done["workload"]]
    return done, notes


def selected(frame: pd.DataFrame, where: Where) -> tuple[pd.DataFrame, list[str]]:
    """The rows that ``where`` keeps, and notes that say so.

    Raises:
        FigureError: a column is unknown.
    """
    rows, notes = frame, list[str]()
    for column, wanted in (where or {}).items():
        if column not in rows.columns:
            raise FigureError("no such column to select by", key=column, remedy="use a column of the table")
        chosen = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
        rows = rows[rows[column].isin(chosen)]
        notes.append(f"{label(column)}: {', '.join(map(str, chosen))}")
    return rows, notes


def select(
    frame: pd.DataFrame,
    needed: Sequence[str],
    *,
    x: str | None = None,
    where: Where = None,
    most: int | None = None,
) -> Selection:
    """Decide what goes across, what makes lines and what is held.

    Args:
        needed: columns of which each row must have a number to be drawn.
        most: combinations of further axes to keep per program; by default what MOST_LINES leaves.

    Raises:
        FigureError: a needed column is missing or empty, or ``x`` does not vary.
    """
    choice = choice_of(frame)
    rows, notes = completed(frame, where)
    rows = _with_numbers(rows, needed, notes)
    axes = axes_of(rows, x)
    chosen, effect = axes.x, axes.effect
    if chosen is not None:
        rows = _with_numbers(rows, [chosen.column], notes)
    leading = [chosen] if chosen is not None else []
    others = [one for one in axes.varying if one not in leading]
    keys, follows = independent(rows, others, [one.column for one in leading])
    keys = ranked(keys, effect, choice.lines)
    notes += _together_notes(rows, follows, [*leading, *keys])
    engines = engines_of(rows)
    directions = tuple(name for name in DIRECTIONS if name in set(rows["direction"]))
    limit = most or max(2, MOST_LINES // (len(directions) * len(engines)))
    held: dict[str, dict[str, str]] = {}
    rows, combinations, ordered = hold(rows, keys, limit, held)
    factors = {key.label: effect[key.column] for key in keys if key.column in effect}
    notes += held_notes(held, rows["program"].nunique(), factors)
    known = {name: value for name, value in choice.baseline.items() if name in rows.columns}
    baseline = {name: matching(axis(rows, name), value) for name, value in known.items()}
    return Selection(
        rows,
        axis(rows, chosen.column) if chosen is not None else None,
        combinations,
        ordered,
        tuple(sorted(pd.unique(rows["program"]), key=_place)),
        directions,
        engines,
        tuple(key.column for key in keys),
        {name: value for name, value in baseline.items() if value is not None},
        (machine_note(rows, engines), *interval.note(rows), *notes),
    )


def _together_notes(rows: pd.DataFrame, follows: Sequence[Axis], leading: Sequence[Axis]) -> list[str]:
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
        remedy = f"engine {engines} does not report it; run the sweep with one that does"
        message = "the table has no value of what this figure shows"
        raise FigureError(message, key=", ".join(empty), remedy=remedy)
    if len(kept) < len(rows):
        absent = sorted({f"{row.workload} ({row.engine})" for row in rows.drop(kept.index).itertuples()})
        shown = ", ".join(absent[:4]) + (f" and {len(absent) - 4} more" if len(absent) > 4 else "")
        notes.append(f"no value for {shown}")
    return kept


def hold(
    rows: pd.DataFrame, keys: Sequence[Axis], limit: int, held: dict[str, dict[str, str]]
) -> tuple[pd.DataFrame, tuple[str, ...], bool]:
    """Keep at most ``limit`` combinations of the axes per program, and name them in ``_combination``.

    Args:
        keys: the further axes, the most important first; the last are held first.
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
            kept = [held_at(own, least, choice.baseline)]
            if not unwanted and len(least.values) > 3 and limit >= 3:  # the ends, and that or the middle
                ends = least.values[0], least.values[-1]
                middle = least.values[len(least.values) // 2] if kept[0] in ends else kept[0]
                kept = [ends[0], middle, ends[1]]
            own = own[own[least.column].isin(kept)]
            held.setdefault(least.label, {})[str(program)] = ", ".join(map(least.text, kept))
            axes = _varying(own, [varied.column for varied in axes])
        varying |= {varied.column: None for varied in axes}
        texts = []
        for _, row in own.iterrows():
            text = ", ".join(f"{short_label(one.column)} {one.text(row[one.column])}" for one in axes)
            places[text] = tuple(one.positions[row[one.column]] for one in axes)
            texts.append(text)
        parts.append(own.assign(**{COMBINATION: texts}))
    kept_rows = pd.concat(parts)
    kept_rows.attrs = rows.attrs
    ordered = len(varying) == 1 and all(axis(kept_rows, name).numeric for name in varying)
    return kept_rows, tuple(sorted(places, key=lambda text: (len(places[text]), places[text], text))), ordered


def _varying(own: pd.DataFrame, columns: Sequence[str]) -> list[Axis]:
    return [axis(own, name) for name in columns if own[name].nunique() > 1]


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
    titles = "; ".join(engine_facts(name).title for name in engines)
    parts = [f"Engine{'s' if len(engines) > 1 else ''}: {titles}"]
    for name, text in (
        ("gfx", "{}"),
        ("release", "gem5 {}" if any(name in SIMULATING for name in engines) else "options of gem5 {}"),
        ("gpu_clock", "GPU at {}"),
        (COMPUTE_UNITS, "{:g} compute units"),
    ):
        if name in rows.columns and rows[name].nunique() == 1:
            parts.append(text.format(rows[name].dropna().iloc[0]))
    return " · ".join(parts)


def engine_parts(engine: str, engines: Sequence[str], own: pd.DataFrame, rows: pd.DataFrame) -> list[str]:
    """What a label says of the engine of its ``own`` rows; nothing where all the figure's ``rows`` are alike.

    Products by rocBLAS' own kernels are told from those by the stand-in where a figure has both.
    """
    parts = [engine] if len(engines) > 1 else []
    if PRODUCTS in rows.columns and joined(rows[PRODUCTS]) == BOTH and (kinds := joined(own[PRODUCTS])):
        parts.append(f"products: {kinds}")
    return parts
