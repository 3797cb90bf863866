"""gem5-kernels as the judge of a search: the sweep that it runs, and what its results settle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from apuflow.ask.question import save
from apuflow.ask.search import Found, optimistic, signs
from apuflow.configure import load_sweep
from apuflow.configure.combinations import members_of, plan
from apuflow.configure.loading import check_new_name
from apuflow.configure.suite import sweep_suites
from apuflow.configure.sweep import Sweep, Variation
from apuflow.core import paths
from apuflow.core.engines import EngineName
from apuflow.core.errors import ApuflowError
from apuflow.plan.points import members, points, sweep_workloads
from apuflow_analysis.tables.columns import axis_column
from apuflow_analysis.tables.objectives import CYCLES, Objective, end_names, of_machines, pareto, values
from apuflow_analysis.tables.records import COMPLETED
from apuflow_analysis.tables.store import read

ENGINE: Final[EngineName] = "gem5-kernels"


def made_by(origin: str) -> str:
    """How the description of a sweep ends that a search of ``origin``, a sweep or a question, wrote."""
    return f"points that apuflow search {origin} found"


def tables_of(sweep: Sweep, root: Path = Path()) -> list[str]:
    """Names of a sweep's tables: its workloads, then its suites."""
    return [name for workload in sweep_workloads(sweep, root) for name in members_of(sweep, workload, root)]


def not_refused(why: str) -> bool:
    """Whether it is not the preview that keeps an item of a suite from running, but all engines."""
    return not why.startswith("preview: ")


def engines_for(*, all_modelled: bool) -> list[str]:
    """The engines of a sweep that judges: the preview too, where it models every operation."""
    return [ENGINE, "preview"] if all_modelled else [ENGINE]


def save_best(
    sweep: Sweep,
    found: Found,
    objectives: Sequence[Objective],
    count: int,
    name: str,
    root: Path = Path(),
    *,
    force: bool = False,
    origin: str = "",
) -> Path:
    """Keep the best points as a sweep on gem5-kernels and the preview: gem5 then judges the ranking.

    Its report has the table of the best points, and the Pareto figure of several objectives.

    Args:
        origin: of the sweep, for its description; by default the sweep's name.

    Raises:
        ConfigError: the name cannot be used.
    """
    head = found.rows.head(count)
    names = {axis_column(n): n for w in tables_of(sweep, root) for n in plan(sweep, w, root).axes}
    group: dict[str, Any] = {}
    for column in found.axes:
        option = names[column].removeprefix("layer.")
        place = group if option == names[column] else group.setdefault("layer", {})
        place[option] = [value.item() if isinstance(value, np.generic) else value for value in head[column]]
    all_run = all(not_refused(item.why) for one in found.answer.iterations for item in one.items)
    content: dict[str, Any] = {
        "description": f"The best {len(head)} {made_by(origin or sweep.name)}",
        "engines": engines_for(all_modelled=all_run),
        "release": sweep.release,
        "machine": sweep.machine,
        **_what_runs(sweep, root),
        **_fixed(sweep),
        "zip": [group],
        "on_failure": "record",
        "figures": {"objectives": [f"-({o.expression})" if o.larger else o.expression for o in objectives]},
    }
    return save(content, name, root, force=force)


def _what_runs(sweep: Sweep, root: Path) -> dict[str, list[str]]:
    suites = sweep_suites(sweep, root)
    workloads = [name for name in sweep_workloads(sweep, root) if name != paths.OPERATIONS]
    return {**({"workloads": workloads} if workloads else {}), **({"suites": suites} if suites else {})}


def _fixed(sweep: Sweep) -> dict[str, Any]:
    """What a sweep sets and does not vary."""

    def part(of: Variation) -> dict[str, Any]:
        return {key: dict(value) for key in ("options", "layer") if (value := getattr(of, key))}

    own = {pattern: part(of) for pattern, of in sweep.per_workload.items() if part(of)}
    others = sweep.model_dump(mode="json", include={"inputs", "products"}, exclude_defaults=True)
    return {**part(sweep), **others, **({"per_workload": own} if own else {})}


def objection(sweep: Sweep, root: Path = Path()) -> ApuflowError | None:
    """Why gem5-kernels cannot run a question; None: nothing is known against its first points."""
    on_gem5 = sweep.model_copy(update={"engines": (ENGINE,)})
    first = {name: [next(plan(on_gem5, name, root).combinations())] for name in tables_of(on_gem5, root)}
    try:
        for name in sweep_workloads(on_gem5, root):
            if name == paths.OPERATIONS:
                members(on_gem5, root, first)
            else:
                points(on_gem5, name, root, [ENGINE], first[name])
    except ApuflowError as error:
        return error
    return None


def continues(name: str, origin: str, root: Path = Path(), *, force: bool = False) -> bool:
    """Whether a sweep that judges a search of ``origin`` is there already; ``force``: begin again.

    Raises:
        ConfigError: the name cannot be used, or is that of a sweep that no search of this one wrote.
    """
    path = root / paths.sweep_file(name)
    if path.is_file() and not force and load_sweep(name, root).description.endswith(made_by(origin)):
        return True
    check_new_name(name, "sweep", path, force=force)
    return False


def results_of(name: str, sweep: Sweep, root: Path = Path()) -> pd.DataFrame | None:
    """Rows of gem5-kernels in the results of a sweep that judges; None: its tables are not there yet."""
    files = [root / paths.table(paths.under(name), each) for each in tables_of(sweep, root)]
    if not all(file.is_file() for file in files):
        return None
    rows = pd.concat([read(file) for file in files], ignore_index=True)
    return rows[rows["engine"] == ENGINE]


@dataclass(frozen=True)
class Verdict:
    """What is known of a search's points after some of them ran.

    Attributes:
        found: the points, judged ones with gem5's numbers and first; columns ``judged`` and ``best``.
        undecided: places in ``found.rows`` of points that may still change the answer, best first.
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


def judge(
    found: Found, objectives: Sequence[Objective], results: pd.DataFrame, sweep: Sweep, root: Path = Path()
) -> Verdict:
    """Put gem5's numbers in the place of the preview's and say which points may still be best.

    A point that has not run is out when one that has run is as good in every objective and better in one,
    though the point's objectives are taken at the better end of the preview's interval. Where the search
    wants the cheapest point near the best, a point is out that cannot be as cheap and near enough, nor so
    good that the cheapest judged one is no longer near.

    Args:
        found, objectives, sweep: of the search.
        results: of ``results_of``.
    """
    rows, ran = _measured(found, objectives, results, len(tables_of(sweep, root)))
    judged = rows["judged"].to_numpy()
    failed = ran - set(np.flatnonzero(judged).tolist())
    numbers = rows[[o.expression for o in objectives]].to_numpy(dtype=float) * signs(objectives)
    hopes = optimistic(rows, objectives)
    rows["best"] = False
    rows.loc[judged, "best"] = pareto(numbers[judged])
    open_places = [k for k in range(len(rows)) if not judged[k] and k not in failed]
    if found.within is None or not judged.any():
        undecided = [k for k in open_places if not _beaten(hopes[k], hopes[judged])]
        order = np.lexsort((*numbers.T[::-1], ~rows["best"], ~judged))
    else:
        limit = _limit(objectives[0], found.within)
        rows["within"] = judged & (numbers[:, 0] <= limit(numbers[judged, 0].min()))
        order = np.lexsort((numbers[:, 0], *numbers.T[:0:-1], ~rows["within"], ~judged))
        first = numbers[order[0]]
        best = numbers[judged, 0].min()
        undecided = [
            k
            for k in open_places
            if (hopes[k, 0] <= limit(best) and tuple(hopes[k, 1:]) <= tuple(first[1:]))
            or limit(hopes[k, 0]) < first[0]
        ]
    new_place = {int(old): new for new, old in enumerate(order)}
    sorted_found = replace(found, rows=rows.iloc[order].reset_index(drop=True))
    return Verdict(sorted_found, tuple(sorted(new_place[k] for k in undecided)), len(failed))


def _limit(objective: Objective, share: float) -> Any:
    """From the best value, as ``signs`` turns it, to the worst that is near enough."""
    return (lambda best: best * (1 - share)) if objective.larger else (lambda best: best * (1 + share))


def _measured(
    found: Found, objectives: Sequence[Objective], results: pd.DataFrame, tables: int
) -> tuple[pd.DataFrame, set[int]]:
    """The rows with gem5's numbers where it has some (column ``judged``), and places of all that it tried."""
    names = [objective.expression for objective in objectives]
    done = results[results["status"] == COMPLETED]
    own = dict.fromkeys(CYCLES[1:], done["gpu_cycles"])
    measured = of_machines(done.assign(**own, **values(done, names)), found.axes, names, tables)
    rows = found.rows.copy()
    for name in names:
        measured = measured.assign(**dict.fromkeys(end_names(name), measured[name]))
    place = {key: number for number, key in enumerate(_keys(rows, found.axes))}
    keys = _keys(measured, found.axes)
    kept, at = [key in place for key in keys], [place[key] for key in keys if key in place]
    ends = [end for name in names for end in end_names(name) if end in rows]
    columns = [name for name in dict.fromkeys([*names, *CYCLES, *ends]) if name not in found.axes]
    rows[columns] = rows[columns].astype(float)
    rows.loc[at, columns] = measured.loc[kept, columns].to_numpy(dtype=float)
    rows["judged"] = False
    rows.loc[at, "judged"] = True
    if "flags" in rows:
        rows.loc[at, "flags"] = measured.loc[kept, "flags"].fillna("").to_numpy()
    return rows, {place[key] for key in _keys(results, found.axes) if key in place}


def next_points(verdict: Verdict, count: int) -> Found:
    """The judged points and the next ones to judge: what ``save_best`` keeps, so that runs are not lost."""
    rows = verdict.found.rows
    places = [*np.flatnonzero(rows["judged"]), *verdict.undecided[:count]]
    return replace(verdict.found, rows=rows.iloc[places].reset_index(drop=True))


def contenders(found: Found) -> Found:
    """With what gem5 has to judge first at the top: the answer, the best, what is cheaper and may be near."""
    if found.within is None:
        return found
    rows = found.rows
    first = found.objectives[0]
    values_of = rows[first.expression].astype(float)
    best = int(values_of.argmax() if first.larger else values_of.argmin())
    doubtful = [k for k in _cheaper(found) if not rows["certain"].iloc[k]]
    places = dict.fromkeys([0, best, *doubtful, *range(len(rows))])
    return replace(found, rows=rows.iloc[list(places)].reset_index(drop=True))


def _cheaper(found: Found) -> list[int]:
    """Places of rows that cost less than the first one, nearest to the best first."""
    rest = [o.expression for o in found.objectives[1:]]
    costs = found.rows[rest].to_numpy(dtype=float) * signs(found.objectives[1:])
    cheaper = [k for k in range(len(costs)) if tuple(costs[k]) < tuple(costs[0])]
    order = optimistic(found.rows, found.objectives[:1])[:, 0]
    return sorted(cheaper, key=lambda k: float(order[k]))


def doubts(found: Found) -> tuple[bool, int]:
    """Whether the first row is surely near the best, and how many cheaper rows may be near it too."""
    rows = found.rows
    return bool(rows["certain"].iloc[0]), sum(not rows["certain"].iloc[k] for k in _cheaper(found))


def _keys(rows: pd.DataFrame, axes: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in rows[list(axes)].itertuples(index=False, name=None)]


def _beaten(value: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> bool:
    return bool(((others <= value).all(axis=1) & (others < value).any(axis=1)).any())
