"""gem5-kernels as the judge of a search: which points could still be best, and when that is settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from apuflow.campaign.points import sweep_workloads
from apuflow.configure import load_sweep
from apuflow.configure.loading import check_new_name
from apuflow.configure.sweep import Sweep
from apuflow.core import paths
from apuflow.study.search import Found, made_by
from apuflow_analysis.tables.objectives import CYCLES, Objective, of_machines, pareto, values
from apuflow_analysis.tables.records import COMPLETED
from apuflow_analysis.tables.store import read

ENGINE = "gem5-kernels"


@dataclass(frozen=True)
class Verdict:
    """What is known of a search's points after some of them ran.

    Attributes:
        found: the points, judged ones with gem5's numbers and first; columns ``judged`` and ``best``.
        undecided: places in ``found.rows`` of points that may still be as good as a judged one, best first.
        failed: points that did not complete.
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
    """Whether a sweep that judges a search of ``sweep`` is there already; False: it is to be written.

    Args:
        force: begin again, whatever has this name.

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
        found: of ``search``.
        objectives: those of the search.
        results: of ``results_of``.
        sweep: that was searched.
    """
    names = [objective.expression for objective in objectives]
    done = results[results["status"] == COMPLETED]
    own = dict.fromkeys(("gpu_cycles_low", "gpu_cycles_high"), done["gpu_cycles"])
    valued = done.assign(**own, **values(done, names))
    measured = of_machines(valued, found.axes, names, len(sweep_workloads(sweep, root)))
    rows = found.rows.copy()
    place = {key: number for number, key in enumerate(_keys(rows, found.axes))}
    at = [place[key] for key in _keys(measured, found.axes) if key in place]
    kept = [key in place for key in _keys(measured, found.axes)]
    columns = [name for name in dict.fromkeys([*names, *CYCLES]) if name not in found.axes]
    rows[columns] = rows[columns].astype(float)
    rows.loc[at, columns] = measured.loc[kept, columns].to_numpy(dtype=float)
    rows["judged"] = False
    rows.loc[at, "judged"] = True
    ran = {place[key] for key in _keys(results, found.axes) if key in place}
    failed = ran - set(at)
    signs = np.array([-1.0 if objective.larger else 1.0 for objective in objectives])
    hoped = rows[names].to_numpy(dtype=float).copy()
    for column, name in enumerate(names):
        if name == "gpu_cycles":
            hoped[:, column] = rows["gpu_cycles_low"]
    hoped *= signs
    judged = rows["judged"].to_numpy()
    rows["best"] = False
    rows.loc[judged, "best"] = pareto(rows.loc[judged, names].to_numpy(dtype=float) * signs)
    open_places = [k for k in range(len(rows)) if not judged[k] and k not in failed]
    undecided = [k for k in open_places if not _beaten(hoped[k], hoped[judged])]
    order = np.lexsort((*(rows[names].to_numpy(dtype=float) * signs).T[::-1], ~rows["best"], ~judged))
    new_place = {int(old): new for new, old in enumerate(order)}
    sorted_rows = rows.iloc[order].reset_index(drop=True)
    return Verdict(
        replace(found, rows=sorted_rows), tuple(sorted(new_place[k] for k in undecided)), len(failed)
    )


def next_points(verdict: Verdict, count: int) -> Found:
    """The judged points and the next ones to judge: what ``save_best`` keeps, so that runs are not lost."""
    rows = verdict.found.rows
    places = [*np.flatnonzero(rows["judged"]), *verdict.undecided[:count]]
    return replace(verdict.found, rows=rows.iloc[places].reset_index(drop=True))


def _keys(rows: pd.DataFrame, axes: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in rows[list(axes)].itertuples(index=False, name=None)]


def _beaten(value: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> bool:
    return bool(((others <= value).all(axis=1) & (others < value).any(axis=1)).any())
