"""Search a space of machines: the points that none beats, the cheapest near the best.

The preview computes thousands of points a second, all at once, so the space is evaluated as a whole and needs
no optimiser. A space with more points than the limit is sampled, evenly at random with a fixed seed.
``apuflow.ask.judge`` lets gem5-kernels judge what was found.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from apuflow.ask.question import Answer, answered
from apuflow.configure.combinations import Assignment, Plan, members_of, plan
from apuflow.configure.suite import choice_of, load_suite, sweep_suites
from apuflow.configure.sweep import Sweep
from apuflow.core.errors import ConfigError
from apuflow.plan.points import sweep_workloads
from apuflow_analysis.tables.columns import axis_column
from apuflow_analysis.tables.objectives import (
    Objective,
    end_names,
    ends,
    holds,
    of_machines,
    pareto,
    values,
)
from apuflow_analysis.tables.suites import Iteration

SEED = 1
CLOCKED: Final = ("gpu-clock", "machine")
"""Axes along which a cycle has no fixed length."""


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        rows: a row per machine: its axes, a column per objective with its interval
            (``objectives.end_names``), ``gpu_cycles`` with its interval, ``flags``, ``best`` (no other point
            is as good in every objective and better in one), best first. With a share to be within also
            ``within`` (of the first objective's best) and ``certain`` (the intervals carry that); the
            cheapest within comes first.
        axes: names of the columns that vary.
        space: combinations of the sweep; ``evaluated``: those computed; ``refused``: by a constraint.
        objectives: the first decides what is best; with ``within`` the others what is cheap.
        within: share by which the first objective may miss its best; None: no such limit.
        answer: what the rows were made from.
    """

    rows: pd.DataFrame
    axes: tuple[str, ...]
    space: int
    evaluated: int
    refused: int
    objectives: tuple[Objective, ...] = (Objective("gpu_cycles"),)
    within: float | None = None
    answer: Answer = field(default_factory=lambda: Answer(pd.DataFrame()))

    @property
    def undecided(self) -> int:
        """Points besides the first whose interval of cycles reaches below the first one's upper end."""
        if self.rows.empty:
            return 0
        first = self.rows.iloc[0]
        return int((self.rows["gpu_cycles_low"] < first["gpu_cycles_high"]).sum()) - 1

    def iterations_of(self, place: int) -> tuple[Iteration, ...]:
        """The suites' iterations of a row."""
        wanted = [str(value) for value in self.rows.iloc[place][list(self.axes)]]
        own = []
        for one in self.answer.iterations:
            values_of = {axis_column(name): value for name, value in one.axes.items()}
            if [str(values_of.get(axis, "")) for axis in self.axes] == wanted:
                own.append(one)
        return tuple(own)


def search(
    sweep: Sweep,
    objectives: Sequence[Objective],
    constraints: Sequence[str] = (),
    most: int = 20_000,
    root: Path = Path(),
    within: float | None = None,
) -> Found:
    """Evaluate a sweep's space with the preview and sort it by the objectives.

    Objectives of several workloads and suites on one machine add up; one of axes and options alone counts
    once.

    Args:
        objectives: at least one; the first decides the order.
        constraints: expressions that must hold of each row, as ``dram_bytes_read < 1e9``.
        most: points to compute per workload; of a suite, operations.
        within: sort by the other objectives what misses the first one's best by this share at most.

    Raises:
        ConfigError: a point cannot run, an expression cannot be evaluated, or nothing is left.
    """
    limits = sweep.limits.model_copy(update={"max_points": 10**12})
    wide = sweep.model_copy(update={"limits": limits, "engines": ("preview",)})
    chosen: dict[str, Sequence[Assignment]] = {}
    space, axes = 0, dict[str, None]()
    for name in _names(wide, root):
        planned = plan(wide, name, root)
        axes |= dict.fromkeys(map(axis_column, planned.axes))
        limit = max(1, most // _operations(wide, name, planned, root))
        combinations = list(itertools.islice(planned.combinations(), limit + 1))
        few = len(combinations) <= limit
        space += len(combinations) if few else planned.size
        chosen[name] = combinations if few else _sampled(planned, limit)
    answer = answered(wide, root, chosen)
    if not axes:
        remedy = "give an option several values: num-compute-units=4,16,64 tcc-size=256kB,1MB"
        raise ConfigError("nothing varies, so there is nothing to choose from", remedy=remedy)
    frame = answer.frame.copy()
    keep = np.ones(len(frame), dtype=bool)
    for constraint in constraints:
        keep &= holds(frame, constraint)
    expressions = [o.expression for o in objectives]
    valued = frame.assign(**values(frame, expressions, tuple(axes)), **ends(frame, expressions, tuple(axes)))[
        keep
    ]
    rows = of_machines(valued, tuple(axes), expressions, frame["workload"].nunique())
    if rows.empty:
        told, remedy = " and ".join(constraints), "loosen them, or widen the sweep's axes"
        raise ConfigError("no point satisfies the constraints", key="--where", value=told, remedy=remedy)
    evaluated = sum(map(len, chosen.values()))
    counts = space, evaluated, int((~keep).sum())
    found = Found(rows, tuple(axes), *counts, tuple(objectives), within, answer)
    return _sorted(found)


def _names(sweep: Sweep, root: Path) -> Iterator[str]:
    """Workloads and suites of a sweep."""
    for workload in sweep_workloads(sweep, root):
        yield from members_of(sweep, workload, root)


def _operations(sweep: Sweep, name: str, planned: Plan, root: Path) -> int:
    """Points that one combination has: those of a suite's steps, about; of a workload one."""
    if name not in sweep_suites(sweep, root):
        return 1
    suite = load_suite(name, root)
    first = next(planned.combinations(), ())
    layer = {axis.removeprefix("layer."): value for axis, value in first if axis.startswith("layer.")}
    choice = choice_of({**planned.layer, **layer})
    return 1 if suite.operators is not None else len({spec for _, spec in suite.specified(choice)})


def _sorted(found: Found) -> Found:
    """With the columns that say what is best, and in that order."""
    rows, objectives = found.rows.copy(), found.objectives
    better = rows[[o.expression for o in objectives]].to_numpy(dtype=float) * signs(objectives)
    rows["best"] = pareto(better)
    if found.within is None:
        order = np.lexsort((*better.T[::-1], ~rows["best"].to_numpy()))
    else:
        inside, certain = within(rows, objectives[0], found.within)
        rows["within"], rows["certain"] = inside, certain
        order = np.lexsort((better[:, 0], *better.T[:0:-1], ~inside))
    return Found(
        rows.iloc[order].reset_index(drop=True),
        found.axes,
        *(found.space, found.evaluated, found.refused),
        *(objectives, found.within, found.answer),
    )


def signs(objectives: Sequence[Objective]) -> np.ndarray[Any, Any]:
    """What makes less of each objective better."""
    return np.array([-1.0 if objective.larger else 1.0 for objective in objectives])


def within(
    rows: pd.DataFrame, objective: Objective, share: float
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Of each row whether its objective misses the best by a share at most, and whether that is certain.

    It is certain where it holds for all values of the intervals, each row's taken on its own.

    Raises:
        ConfigError: the objective is not above 0 everywhere.
    """
    value, low, high = _with_ends(rows, objective)
    if not (value > 0).all():
        remedy = "name a time, a size or a rate first"
        raise ConfigError(
            "a share of the best needs an objective above 0",
            key="--within",
            value=objective.expression,
            remedy=remedy,
        )
    if objective.larger:  # the best is the largest: compare reciprocals with 1 - share
        value, low, high, limit = 1 / value, 1 / high, 1 / low, 1 / (1 - share)
    else:
        limit = 1 + share
    inside = value <= limit * value.min() * (1 + 1e-12)
    surely = high <= limit * _least_of_others(low)
    never = low > limit * _least_of_others(high)
    return inside, np.where(inside, surely, never)


def _least_of_others(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """For each place the smallest number in any other; infinite where there is none."""
    if len(numbers) < 2:
        return np.full(len(numbers), np.inf)
    order = np.argsort(numbers, kind="stable")
    found = np.full(len(numbers), numbers[order[0]])
    found[order[0]] = numbers[order[1]]
    return found


def _with_ends(
    rows: pd.DataFrame, objective: Objective
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """An objective's values with both ends of their intervals; the value itself where there is none."""
    value = rows[objective.expression].to_numpy(dtype=float)
    both = []
    for name in end_names(objective.expression):
        end = rows[name].to_numpy(dtype=float) if name in rows else value
        both.append(np.where(np.isnan(end), value, end))
    return value, both[0], both[1]


def optimistic(rows: pd.DataFrame, objectives: Sequence[Objective]) -> np.ndarray[Any, Any]:
    """The best value of each objective that its interval allows, less being better."""
    columns = []
    for objective in objectives:
        _, low, high = _with_ends(rows, objective)
        columns.append(-high if objective.larger else low)
    return np.column_stack(columns)


def _sampled(planned: Plan, count: int) -> list[Assignment]:
    """So many different combinations, each as likely as any other."""
    draw = random.Random(SEED)
    seen: dict[Assignment, None] = {}
    for _ in range(50 * count):
        parts = [draw.choice(rows) for rows in planned.dimensions]
        assignment = tuple(itertools.chain.from_iterable(parts))
        if not planned.excluded(dict(assignment)):
            seen[assignment] = None
        if len(seen) == count:
            break
    return list(seen)
