"""Search a sweep's space: the preview over all of it, the points that none beats, gem5-kernels as the judge.

The preview computes thousands of points a second, all at once, so the space is evaluated as a whole and needs
no optimiser. A space with more points than the limit is sampled, evenly at random with a fixed seed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from apuflow.ask.question import answer_of, save
from apuflow.configure import load_sweep
from apuflow.configure.combinations import Assignment, Plan, plan
from apuflow.configure.loading import check_new_name
from apuflow.configure.sweep import Sweep
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.plan.points import sweep_workloads
from apuflow_analysis.tables.columns import axis_column
from apuflow_analysis.tables.objectives import CYCLES, Objective, holds, of_machines, pareto, values
from apuflow_analysis.tables.records import COMPLETED
from apuflow_analysis.tables.store import read

SEED = 1


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        rows: a row per machine: its axes, a column per objective, ``gpu_cycles`` with its interval,
            ``flags``, ``best`` (no other point is as good in every objective and better in one), best first.
        axes: names of the columns that vary.
        space: combinations of the sweep; ``evaluated``: those computed; ``refused``: by a constraint.
    """

    rows: pd.DataFrame
    axes: tuple[str, ...]
    space: int
    evaluated: int
    refused: int

    @property
    def undecided(self) -> int:
        """Points besides the first whose interval of cycles reaches below the first one's upper end."""
        if self.rows.empty:
            return 0
        first = self.rows.iloc[0]
        return int((self.rows["gpu_cycles_low"] < first["gpu_cycles_high"]).sum()) - 1


def search(
    sweep: Sweep,
    objectives: Sequence[Objective],
    constraints: Sequence[str] = (),
    most: int = 20_000,
    root: Path = Path(),
) -> Found:
    """Evaluate a sweep's space with the preview and sort it by the objectives.

    Objectives of several workloads on one machine add up; one of axes and options alone counts once.

    Args:
        objectives: at least one; the first decides the order.
        constraints: expressions that must hold of each row, as ``dram_bytes_read < 1e9``.
        most: points per workload to compute.

    Raises:
        ConfigError: a point cannot run, an expression cannot be evaluated, or nothing is left.
    """
    limits = sweep.limits.model_copy(update={"max_points": 10**12})
    wide = sweep.model_copy(update={"limits": limits, "engines": ("preview",)})
    tables, space, evaluated = [], 0, 0
    workloads = sweep_workloads(wide, root)
    if paths.OPERATIONS in workloads:
        remedy = "leave suites out of the sweep"
        raise ConfigError("a search is over workloads, not over suites", remedy=remedy)
    axes: dict[str, None] = {}
    for workload in workloads:
        planned = plan(wide, workload, root)
        axes |= dict.fromkeys(map(axis_column, planned.axes))
        combinations = list(itertools.islice(planned.combinations(), most + 1))
        few = len(combinations) <= most
        space += len(combinations) if few else planned.size
        combinations = combinations if few else _sampled(planned, most)
        evaluated += len(combinations)
        tables.append(answer_of(wide, workload, combinations, root))
    frame = pd.concat(tables, ignore_index=True).copy()
    keep = np.ones(len(frame), dtype=bool)
    for constraint in constraints:
        keep &= holds(frame, constraint)
    expressions = [o.expression for o in objectives]
    valued = frame.assign(**values(frame, expressions))[keep]
    rows = of_machines(valued, tuple(axes), expressions, frame["workload"].nunique())
    if rows.empty:
        told, remedy = " and ".join(constraints), "loosen them, or widen the sweep's axes"
        raise ConfigError("no point satisfies the constraints", key="--where", value=told, remedy=remedy)
    better = rows[expressions].to_numpy() * _signs(objectives)
    rows["best"] = pareto(better)
    order = np.lexsort((*better.T[::-1], ~rows["best"].to_numpy()))
    sorted_rows = rows.iloc[order].reset_index(drop=True)
    return Found(sorted_rows, tuple(axes), space, evaluated, int((~keep).sum()))


def _signs(objectives: Sequence[Objective]) -> np.ndarray[Any, Any]:
    """What makes less of each objective better."""
    return np.array([-1.0 if objective.larger else 1.0 for objective in objectives])


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


def made_by(sweep: str) -> str:
    """How the description of a sweep ends that a search of ``sweep`` wrote."""
    return f"points that apuflow search {sweep} found"


def save_best(
    sweep: Sweep,
    found: Found,
    objectives: Sequence[Objective],
    count: int,
    name: str,
    root: Path = Path(),
    *,
    force: bool = False,
) -> Path:
    """Keep the best points as a sweep on gem5-kernels and the preview: gem5 then judges the ranking.

    Its report has the table of the best points, and the Pareto figure of several objectives.

    Raises:
        ConfigError: the name cannot be used.
    """
    head = found.rows.head(count)
    names = {axis_column(n): n for w in sweep_workloads(sweep, root) for n in plan(sweep, w, root).axes}
    group: dict[str, Any] = {}
    for column in found.axes:
        option = names[column].removeprefix("layer.")
        place = group if option == names[column] else group.setdefault("layer", {})
        place[option] = [value.item() if isinstance(value, np.generic) else value for value in head[column]]
    content: dict[str, Any] = {
        "description": f"The best {len(head)} {made_by(sweep.name)}",
        "engines": ["gem5-kernels", "preview"],
        "release": sweep.release,
        "machine": sweep.machine,
        "workloads": sweep_workloads(sweep, root),
        **({"options": dict(sweep.options)} if sweep.options else {}),
        **({"layer": dict(sweep.layer)} if sweep.layer else {}),
        "zip": [group],
        "on_failure": "record",
        "figures": {"objectives": [f"-({o.expression})" if o.larger else o.expression for o in objectives]},
    }
    return save(content, name, root, force=force)


ENGINE = "gem5-kernels"


@dataclass(frozen=True)
class Verdict:
    """What is known of a search's points after some of them ran.

    Attributes:
        found: the points, judged ones with gem5's numbers and first; columns ``judged`` and ``best``.
        undecided: places in ``found.rows`` of points that may still be as good as a judged one, best first.
    """

    found: Found
    undecided: tuple[int, ...]
    failed: int

    @property
    def text(self) -> str:
        """How far the ranking is settled, in a sentence."""
        judged = f"{int(self.found.rows['judged'].sum())} points judged by {ENGINE}"
        failed = f", {self.failed} failed" if self.failed else ""
        open_points = f"{len(self.undecided)} more may be as good within the preview's error"
        return f"{judged}{failed}: {'the ranking is settled' if self.settled else open_points}"

    @property
    def settled(self) -> bool:
        """Whether no other point can change who is best."""
        return not self.undecided and bool(self.found.rows["judged"].any())


def continues(name: str, sweep: Sweep, root: Path = Path(), *, force: bool = False) -> bool:
    """Whether a sweep that judges a search of ``sweep`` is there already; ``force``: begin again in any case.

    Raises:
        ConfigError: the name cannot be used, or is that of a sweep that no search of this one wrote.
    """
    path = root / paths.sweep_file(name)
    if path.is_file() and not force and load_sweep(name, root).description.endswith(made_by(sweep.name)):
        return True
    check_new_name(name, "sweep", path, force=force)
    return False


def results_of(name: str, sweep: Sweep, root: Path = Path()) -> pd.DataFrame | None:
    """Rows of gem5-kernels in the results of a sweep that judges; None: its tables are not there yet."""
    files = [root / paths.table(paths.under(name), each) for each in sweep_workloads(sweep, root)]
    if not all(file.is_file() for file in files):
        return None
    rows = pd.concat([read(file) for file in files], ignore_index=True)
    return rows[rows["engine"] == ENGINE]


def judge(
    found: Found, objectives: Sequence[Objective], results: pd.DataFrame, sweep: Sweep, root: Path = Path()
) -> Verdict:
    """Put gem5's numbers in the place of the preview's and say which points may still be best.

    A point that has not run is out when one that has run is as good in every objective and better in one,
    though the point's cycles are taken at the lower end of the preview's interval. Others have none.

    Args:
        found, objectives, sweep: of the search.
        results: of ``results_of``.
    """
    names = [objective.expression for objective in objectives]
    done = results[results["status"] == COMPLETED]
    own = dict.fromkeys(("gpu_cycles_low", "gpu_cycles_high"), done["gpu_cycles"])
    valued = done.assign(**own, **values(done, names))
    measured = of_machines(valued, found.axes, names, len(sweep_workloads(sweep, root)))
    rows = found.rows.copy()
    place = {key: number for number, key in enumerate(_keys(rows, found.axes))}
    keys = _keys(measured, found.axes)
    kept, at = [key in place for key in keys], [place[key] for key in keys if key in place]
    columns = [name for name in dict.fromkeys([*names, *CYCLES]) if name not in found.axes]
    rows[columns] = rows[columns].astype(float)
    rows.loc[at, columns] = measured.loc[kept, columns].to_numpy(dtype=float)
    rows["judged"] = False
    rows.loc[at, "judged"] = True
    ran = {place[key] for key in _keys(results, found.axes) if key in place}
    failed = ran - set(at)
    signs = _signs(objectives)
    numbers = rows[names].to_numpy(dtype=float) * signs
    optimistic = numbers.copy()
    for column, name in enumerate(names):
        if name == "gpu_cycles":
            optimistic[:, column] = rows["gpu_cycles_low"] * signs[column]
    judged = rows["judged"].to_numpy()
    rows["best"] = False
    rows.loc[judged, "best"] = pareto(numbers[judged])
    open_places = [k for k in range(len(rows)) if not judged[k] and k not in failed]
    undecided = [k for k in open_places if not _beaten(optimistic[k], optimistic[judged])]
    order = np.lexsort((*numbers.T[::-1], ~rows["best"], ~judged))
    new_place = {int(old): new for new, old in enumerate(order)}
    sorted_found = replace(found, rows=rows.iloc[order].reset_index(drop=True))
    return Verdict(sorted_found, tuple(sorted(new_place[k] for k in undecided)), len(failed))


def next_points(verdict: Verdict, count: int) -> Found:
    """The judged points and the next ones to judge: what ``save_best`` keeps, so that runs are not lost."""
    rows = verdict.found.rows
    places = [*np.flatnonzero(rows["judged"]), *verdict.undecided[:count]]
    return replace(verdict.found, rows=rows.iloc[places].reset_index(drop=True))


def _keys(rows: pd.DataFrame, axes: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in rows[list(axes)].itertuples(index=False, name=None)]


def _beaten(value: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> bool:
    return bool(((others <= value).all(axis=1) & (others < value).any(axis=1)).any())
